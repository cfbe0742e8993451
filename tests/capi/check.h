/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_H_
#define CHECK_H_
#include <stdio.h>

static int failures;

/* Says what failed and goes on; main returns failures != 0. */
static void check(int condition, const char* what) {
  if (condition) return;
  failures++;
  printf("failed: %s\n", what);
}

#endif
