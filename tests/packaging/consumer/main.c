/* SPDX-License-Identifier: Apache-2.0 */
#include <samebits/samebits.h>
#include <stdio.h>

int main(void) {
  const float a[3] = {1e8f, 1.0f, -1e8f}, b[3] = {1, 1, 1};
  float c = -1;
  samebits_order* order = NULL;
  if (samebits_order_parse("tree(0 + 2 + 1) > mul", &order) != SAMEBITS_OK) return 1;
  if (samebits_sgemm(order, NULL, 1, 1, 3, 1.0f, a, 3, 1, b, 1, 1, 0.0f, &c, 1, 1) != SAMEBITS_OK) {
    fprintf(stderr, "%s\n", samebits_error_message());
    return 1;
  }
  samebits_order_free(order);
  printf("samebits %s: %g\n", samebits_version(), c);
  return c == 1.0f ? 0 : 1;
}
