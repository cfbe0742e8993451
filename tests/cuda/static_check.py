# SPDX-License-Identifier: Apache-2.0
"""static_check.py NVCC SOURCE_ROOT WORK_DIR ARCHITECTURE... [--nvdisasm PROGRAM] [--print]

Compiles the kernels for each architecture and checks what can be known without a GPU: no spills, registers within what the
launch bounds promise, fma kernels without separate multiplications or additions in their loops, mul kernels without fma.
With nvdisasm also the share of arithmetic in the unrolled inner loop, and for TF32 the share of time in which the tensor cores
are busy. --print prints the table of docs/cuda.md. WORK_DIR keeps what was compiled: unchanged kernels are not compiled again."""
import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("nvcc")
parser.add_argument("root")
parser.add_argument("work")
parser.add_argument("architectures", nargs="+")
parser.add_argument("--nvdisasm", default="")
parser.add_argument("--print", action="store_true", dest="table")
args = parser.parse_args()

root, work = pathlib.Path(args.root), pathlib.Path(args.work)
work.mkdir(parents=True, exist_ok=True)
names = re.findall(r"^(?:SIMT|DMMA|TF32|PACK|FOLD)\((\w+)", (root / "src/cuda/kernels.inc").read_text(), re.M)
ptxas = str(pathlib.Path(os.path.realpath(args.nvcc)).with_name("ptxas"))
errors = []


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}\n{result.stdout}{result.stderr}")
    return result.stdout + result.stderr


def blocks(text, label):
    """Basic blocks: what stands between labels and branches."""
    return re.split(label, text)


def check_ptx(name, body):
    """An arithmetic block is one that does 16 or more products."""
    seen = False
    for block in blocks(body, r"(?m)^\$L.*:|^\s*(?:@%?!?\w+\s+)?bra"):
        count = {op: len(re.findall(rf"\b{op}(?:\.rn)?\.f(?:32|64)\b", block)) for op in ("fma", "mul", "add")}
        if "_fma_" in name and count["fma"] >= 16:
            seen = True
            if count["mul"] or count["add"]:
                errors.append(f"{name}: a loop with {count['fma']} fma has {count['mul']} mul and {count['add']} add")
        if "_mul_" in name and count["mul"] >= 16 and count["add"] >= 16:
            seen = True
            if count["fma"]:
                errors.append(f"{name}: a loop of mul and add has {count['fma']} fma")
        if "_mma_" in name or "_tf32_" in name:
            seen |= len(re.findall(r"mma\.sync", block)) >= 8
    if re.search(r"\bfma\.rn\.f32\b", body) and "_mul_" in name:
        extra = max(len(re.findall(r"\bfma\.rn\.f32\b", b)) for b in blocks(body, r"(?m)^\$L.*:|^\s*(?:@%?!?\w+\s+)?bra"))
        if extra > 8:  # epilogue(fused) has some
            errors.append(f"{name}: {extra} fma in one block of a mul kernel")
    if not seen and not name.startswith(("pack", "fold")) and "_mixed_" not in name:
        errors.append(f"{name}: no inner loop found in its PTX")


def inner_loop(sass):
    """(arithmetic instructions, all instructions) of the block that does most arithmetic."""
    best = (0, 1)
    for block in blocks(sass, r"(?m)^\.L_x_\d+:"):
        ops = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9]*)", block)
        work = sum(op in ("FFMA", "FMUL", "FADD", "DFMA", "DMUL", "DADD", "HMMA", "DMMA") for op in ops)
        if work > best[0]:
            best = (work, len(ops))
    return best


# Cycles for which one mma.sync m16n8k8 TF32 (1024 products) occupies the tensor core of a scheduler: dense TF32 products per
# cycle and multiprocessor (512, 256, 1024) by four, from the architectures' white papers. Hopper's figure is that of wgmma.
mma_cycles = {"80": 8, "86": 16, "89": 16, "90": 4}


def tensor_share(name, architecture, issued, mma):
    """Share of time in which the tensor cores work, while whole stages are in one run: what a warp does for a stage takes the
    longest of its mma's, of the issue slots of all its instructions, and of its block's traffic to shared memory at 128 bytes a
    cycle (each of the four schedulers has as many warps as the others). `issued` instructions hold `mma` of 8 positions."""
    cycles = mma_cycles.get(architecture.rstrip("a"))
    if not cycles:
        return None
    bm, bn, bk = map(int, re.search(r"_(\d+)x(\d+)x(\d+)_", name).groups())
    warps, wm, wn = 4, bm // 2, bn // 2
    per_stage = wm // 16 * wn // 8 * bk // 8
    copies = (bm + bn) * bk * 4 // 16 // (32 * warps)  # cp.async of a thread; some four instructions each
    slots = issued * per_stage / mma + 4 * copies + 16  # wait, barrier, loop
    shared = (warps * (wm + wn) * bk + (bm + bn) * bk) * 4 / 128
    return cycles * per_stage / max(cycles * per_stage, slots, shared)


def compiled(architecture):
    """(PTX, ptxas log) of the kernels; in `work` from the last time if nothing changed."""
    ptx, cubin, log, key = (work / f"kernels_{architecture}.{end}" for end in ("ptx", "cubin", "log", "key"))
    digest = hashlib.sha256(run(args.nvcc, "--version").encode())
    for file in sorted((root / "src/cuda").glob("*")):
        if file.suffix in (".cu", ".cuh", ".inc", ".h"):
            digest.update(file.read_bytes())
    if not key.exists() or key.read_text() != digest.hexdigest():
        key.unlink(missing_ok=True)
        run(args.nvcc, "-std=c++20", "-O3", "-fmad=false", f"-I{root}/include", f"-I{root}/src", f"-arch=compute_{architecture}", "-ptx",
            "-o", str(ptx), str(root / "src/cuda/kernels.cu"))
        log.write_text(run(ptxas, "-v", f"-arch=sm_{architecture}", str(ptx), "-o", str(cubin)))
        key.write_text(digest.hexdigest())
    return ptx.read_text(), log.read_text()


rows = {}
for architecture in args.architectures:
    text, log = compiled(architecture)
    for name in names:
        found = re.search(rf"Compiling entry function '{name}'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", log, re.S)
        body = re.search(rf"\.entry {name}\(.*?^}}", text, re.S | re.M)
        if not found or not body:
            errors.append(f"{name}: not compiled for sm_{architecture}")
            continue
        stack, stores, loads, registers = map(int, found.groups())
        threads, resident = (int(re.search(rf"\.{what} (\d+)", body[0])[1]) if re.search(rf"\.{what} (\d+)", body[0]) else 1 for what in ("maxntid", "minnctapersm"))
        if stack or stores or loads:
            errors.append(f"{name} on sm_{architecture}: {stack} bytes of stack, {stores} spilled, {loads} loaded back")
        if (registers + 7) // 8 * 8 * threads * resident > 65536:
            errors.append(f"{name} on sm_{architecture}: {registers} registers do not leave room for {resident} blocks of {threads}")
        check_ptx(name, body[0])
        rows.setdefault(name, {})[architecture] = [registers, threads, resident, "-"]
    if args.nvdisasm:
        sass = run(args.nvdisasm, "-c", str(work / f"kernels_{architecture}.cubin"))
        for part in re.split(r"(?m)^\.text\.", sass)[1:]:
            name = part.split(":", 1)[0]
            if name in rows and not name.startswith(("pack", "fold")):
                work_count, all_count = inner_loop(part)
                share = work_count / all_count
                rows[name][architecture][3] = f"{100 * share:.0f} %"
                busy = tensor_share(name, architecture, all_count, work_count / (2 if name.endswith("_k4") else 1)) if "_tf32_" in name else None
                if busy is not None:
                    rows[name][architecture][3] += f", tensor cores busy {100 * busy:.0f} %"
                    # Hopper's mma.sync is bound by shared memory, and mma(4,25) there by the issue of half-size instructions.
                    if "128x128" in name and not architecture.startswith("90") and busy < 0.9:
                        errors.append(f"{name} on sm_{architecture}: the tensor cores are busy {100 * busy:.1f} % of the time only")
                # sm_100 loads the operands of an FFMA more often where copies are of single elements.
                least = 0.85 if architecture.startswith("100") and not name.endswith("_vv") else 0.88
                if "sgemm_simt_128x128x16_fma" in name and share < least:
                    errors.append(f"{name} on sm_{architecture}: only {100 * share:.1f} % FFMA in the inner loop")

if args.table:
    print("| kernel | threads | blocks a multiprocessor | " + " | ".join(f"registers sm_{a} | arithmetic in the loop sm_{a}" for a in args.architectures) + " |")
    print("|---|---|---|" + "---|---|" * len(args.architectures))
    for name in names:
        if name in rows:
            first = next(iter(rows[name].values()))
            print(f"| {name} | {first[1]} | {first[2]} | " + " | ".join(f"{r[0]} | {r[3]}" for r in rows[name].values()) + " |")
print("\n".join(errors) or f"{len(names)} kernels for {', '.join('sm_' + a for a in args.architectures)}: no spills; the arithmetic is as named"
      + ("" if args.nvdisasm else " (no nvdisasm: shares not checked)"))
sys.exit(bool(errors))
