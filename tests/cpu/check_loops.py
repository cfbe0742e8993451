# SPDX-License-Identifier: Apache-2.0
"""check_loops.py OBJDUMP OBJECT...: the inner loops of the microkernels touch the stack nowhere: no accumulator, address or
mask is spilled. (tile_along_k, which waits for memory and not for instructions, is not looked at.) Exit status 77, which ctest
shows as a skip, where objdump is missing or the objects hold no kernels."""
import re
import shutil
import subprocess
import sys

objdump, objects = sys.argv[1], sys.argv[2:]
if shutil.which(objdump) is None:
    print("skipped: no objdump")
    sys.exit(77)


def functions(path):
    out = subprocess.run([objdump, "-d", "-C", "--no-show-raw-insn", path], check=True, capture_output=True, text=True).stdout
    name, code = None, []
    for line in out.splitlines():
        if header := re.match(r"[0-9a-f]+ <(.*)>:$", line):
            if name:
                yield name, code
            name, code = header[1], []
        elif instruction := re.match(r"\s+([0-9a-f]+):\s+(.*)$", line):
            code.append((int(instruction[1], 16), instruction[2]))
    if name:
        yield name, code


def inner_loops(code):
    index = {address: i for i, (address, _) in enumerate(code)}
    loops = []
    for i, (_, text) in enumerate(code):
        jump = re.match(r"j\w+\s+([0-9a-f]+)", text)
        if jump and index.get(int(jump[1], 16), i + 1) <= i:
            loops.append((index[int(jump[1], 16)], i))
    return [x for x in loops if not any(x != y and x[0] <= y[0] and y[1] <= x[1] for y in loops)]


checked, bad = 0, []
for path in objects:
    for name, code in functions(path):
        kernel = re.search(r"\b(?:tile|sweep|add_rows)<.*?>", name)
        if not kernel:
            continue
        for first, last in inner_loops(code):
            body = [text for _, text in code[first : last + 1]]
            if not any(re.match(r"vfmadd|vmul", text) for text in body):
                continue
            checked += 1
            bad += [f"{kernel[0]} in {path}: {text}" for text in body if "%rsp" in text or "(%rbp" in text]
print(f"{checked} loops, {len(bad)} accesses to the stack")
print("\n".join(bad))
if checked == 0:
    print("skipped: no vector kernels in this build")
    sys.exit(77)
sys.exit(1 if bad else 0)
