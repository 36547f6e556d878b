"""Exported C on emulated microcontrollers: labels, flash, stack, instructions per row.

scripts/embedded and scripts/bench/export.py call this. A model is exported in single precision with the
first 200 of its rows, and compiled with -Os for a board. The labels are compared on the board with those of
`svmfast predict`. Flash is what the program grows by when it predicts. qemu counts one nanosecond an
instruction (-icount shift=0), which the board's timer measures; on AVR cycles are counted.
"""

import re
import subprocess
from dataclasses import dataclass

import svmfast

#: Runs the rows and prints numbers; the stack is filled with a pattern that shows its depth.
COMMON = """
static unsigned long elapsed;
static unsigned stack;
#ifdef EMPTY
static int work(void) { return 0; }
#else
#include "model.h"
#define READ(place) (sizeof(model_input) == 1 ? (model_input)MODEL_READ_8(place) : \\
    sizeof(model_input) == 2 ? (model_input)MODEL_READ_16(place) : (model_input)MODEL_READ(place))
#ifdef MODEL_TEST
static volatile __typeof__(ANSWER(NULL)) sink;
static __attribute__((noinline)) void one(const model_input *x) { sink = ANSWER(x); }
static __attribute__((noinline)) int work(void) {
    static model_input x[MODEL_FEATURES];
    int i, j;
    unsigned char *top = (unsigned char *)__builtin_frame_address(0) - 64, *low = top - PAINTED;
    for (i = 0; i < MODEL_TEST_ROWS; ++i) {
        for (j = 0; j < MODEL_FEATURES; ++j) x[j] = READ(model_test_rows + (size_t)i * MODEL_FEATURES + j);
        if (i == 0) for (j = 0; j < PAINTED; ++j) low[j] = 0xA5;
        begin();
        one(x);
        elapsed += end();
        if (i == 0) {
            for (j = 0; j < PAINTED && low[j] == 0xA5; ++j) {}
            stack = (unsigned)(PAINTED - j) + 64;
        }
    }
    return model_test();
}
#else
static volatile model_input x[MODEL_FEATURES];
#ifdef CERTAIN
static int work(void) { return model_certain((const model_input *)x, NULL); }
#else
static int work(void) { return (int)ANSWER((const model_input *)x); }
#endif
#endif
#endif
static void put(char c);
static void say(const char *name, unsigned long value) {
    char text[12];
    int at = 11;
    while (*name) put(*name++);
    text[at] = 0;
    do text[--at] = (char)('0' + value % 10); while (value /= 10);
    while (text[at]) put(text[at++]);
    put('\\n');
}
"""

ARM = """
#include <stdint.h>
#define PAINTED 6000
#define TIMER ((volatile uint32_t *)0xE000E010)
static void begin(void) { TIMER[1] = 0xFFFFFF; TIMER[2] = 0; TIMER[0] = 5; while (TIMER[2] == 0) {} }
static uint32_t end(void) { return 0xFFFFFF - TIMER[2]; }
%s
static void host(int what, const void *with) {
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
}
static void put(char c) { host(3, &c); }
extern uint32_t stack_top, data_from, data_to, data_end, bss_end;
void reset(void);
void reset(void) {
    uint32_t *from = &data_from, *to;
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88 |= 0xF00000;
    __asm__ volatile("dsb\\nisb");
#endif
    for (to = &data_to; to < &data_end;) *to++ = *from++;
    for (; to < &bss_end;) *to++ = 0;
    say("wrong ", (unsigned long)work());
    say("ticks ", elapsed);
    say("stack ", stack);
    host(0x18, (const void *)0x20026);
    for (;;) {}
}
__attribute__((section(".vectors"), used))
static const void *const vectors[2] = {&stack_top, (const void *)reset};
"""

LINKER = """
MEMORY { FLASH (rx) : ORIGIN = %s, LENGTH = %s  RAM (rwx) : ORIGIN = %s, LENGTH = %s }
ENTRY(reset)
SECTIONS {
    .text : { KEEP(*(.vectors)) *(.text*) *(.rodata*) . = ALIGN(4); } > FLASH
    data_from = LOADADDR(.data);
    .data : { data_to = .; *(.data*) . = ALIGN(4); data_end = .; } > RAM AT > FLASH
    .bss : { *(.bss*) *(COMMON) . = ALIGN(4); bss_end = .; } > RAM
    stack_top = ORIGIN(RAM) + LENGTH(RAM);
    /DISCARD/ : { *(.ARM.exidx*) *(.ARM.attributes) }
}
"""

AVR = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdint.h>
#define PAINTED 3000
static volatile uint16_t turns;
ISR(TIMER1_OVF_vect) { ++turns; }
static void begin(void) { turns = 0; TCNT1 = 0; TIFR1 = 1; TCCR1B = 1; sei(); }
static uint32_t end(void) {
    uint16_t low = TCNT1;
    TCCR1B = 0;
    cli();
    if ((TIFR1 & 1) && low < 0x8000) ++turns;
    return ((uint32_t)turns << 16) + low;
}
%s
static void put(char c) { while (!(UCSR0A & (1 << UDRE0))) {} UDR0 = (uint8_t)c; }
int main(void) {
    UBRR0 = 0;
    UCSR0B = 1 << TXEN0;
    TIMSK1 = 1;
    say("wrong ", (unsigned long)work());
    say("ticks ", elapsed);
    say("stack ", stack);
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
"""


RISCV = """
#include <stdint.h>
#define PAINTED 16
static void begin(void) {}
static uint32_t end(void) { return 0; }
%s
static volatile char last;
static void put(char c) { last = c; }
void _start(void);
void _start(void) {
    say("wrong ", (unsigned long)work() + elapsed + stack);
    for (;;) {}
}
"""


@dataclass(frozen=True)
class Board:
    """How to compile for a board and run there; `per_tick`: instructions, or cycles, per tick."""

    source: str
    compiler: list[str]
    run: list[str]
    per_tick: float
    memory: tuple[str, ...] = ("0", "0", "0", "0")


_THUMB = ["arm-none-eabi-gcc", "-mthumb", "-nostartfiles", "-Wl,--gc-sections", "-T", "memory.ld"]
_QEMU = ["qemu-system-arm", "-nographic", "-semihosting", "-icount", "shift=0", "-kernel", "run.elf", "-M"]
_M4 = ["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
_M33 = ["-mcpu=cortex-m33", "-mfloat-abi=hard", "-mfpu=fpv5-sp-d16"]
_SIMAVR = ["simavr", "-m", "atmega1284p", "-f", "16000000", "run.elf"]
_C3 = ["riscv64-unknown-elf-gcc", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs", "-nostartfiles"]
_SMALL, _LARGE = ("0", "256K", "0x20000000", "16K"), ("0", "4M", "0x20000000", "4M")
#: The RP2040 runs on the Cortex-M0, which has the same instructions; of the ESP32-C3 only the size is known.
BOARDS = {
    "Cortex-M4": Board(ARM, [*_THUMB, *_M4], [*_QEMU, "mps2-an386"], 40.0, _LARGE),
    "Cortex-M33": Board(ARM, [*_THUMB, *_M33], [*_QEMU, "mps2-an505"], 50.0,
                        ("0x10000000", "4M", "0x38000000", "4M")),
    "Cortex-M0": Board(ARM, [*_THUMB, "-mcpu=cortex-m0"], [*_QEMU, "microbit"], 62.5, _SMALL),
    "RP2040": Board(ARM, [*_THUMB, "-mcpu=cortex-m0plus"], [*_QEMU, "microbit"], 62.5, _SMALL),
    "AVR": Board(AVR, ["avr-gcc", "-mmcu=atmega1284p"], _SIMAVR, 1.0),
    "ESP32-C3": Board(RISCV, [*_C3, "-Wl,--gc-sections"], [], 1.0),
}  # fmt: skip


class TooLargeError(Exception):
    """A model that is too large for a board."""


def on_board(model, rows, board, folder, **options):
    """Export, compile, run and count; raise TooLargeError if the model does not fit on the board."""
    made, about = svmfast.export(model, "c", test=rows, **options), BOARDS[board]
    flash = flash_of(made.text, board, folder)
    certain = "MODEL_HAS_CERTAIN" in made.text
    proving = flash_of(made.text, board, folder, certain=True) if certain else None
    n = int(re.findall(r"#define MODEL_TEST_ROWS (\d+)", made.text)[0])
    counts = {"rows": n, "wrong": None, "flash": flash, "certain": proving}
    counts |= {"tables": made.report.table_bytes, "stack": None, "instructions": None}
    if not about.run:
        return counts
    _built(about, made.text, ["-DMODEL_TEST"], folder)
    done = subprocess.run(about.run, cwd=folder, capture_output=True, text=True, timeout=600)
    said = done.stdout + done.stderr
    printed = {name: int(value) for name, value in re.findall(r"(wrong|ticks|stack) (\d+)", said)}
    if set(printed) != {"wrong", "ticks", "stack"}:
        raise SystemExit(f"embedded: {model.name} on {board} ended without an answer: {said[-600:]}")
    counts |= {"wrong": printed["wrong"], "stack": printed["stack"]}
    return {**counts, "instructions": round(printed["ticks"] * about.per_tick / n)}


def flash_of(text, board, folder, *, certain=False):
    """Return by how many bytes a program grows when it predicts, or calls NAME_certain, with this file."""
    about = BOARDS[board]
    (folder / "model.h").write_text(text)
    (folder / "main.c").write_text(about.source % COMMON)
    (folder / "memory.ld").write_text(LINKER % about.memory)
    sizes = []
    for flags in (["-DEMPTY"], ["-DCERTAIN"] if certain else []):
        _built(about, text, flags, folder)
        tool = about.compiler[0].removesuffix("gcc") + "size"
        shown = subprocess.run([tool, "run.elf"], cwd=folder, capture_output=True, text=True, check=True)
        # Code and constants, and initial values.
        sizes.append(sum(map(int, shown.stdout.splitlines()[1].split()[:2])))
    return sizes[1] - sizes[0]


def _built(board, text, flags, folder):
    answer = "model_value" if "model_value(" in text else "model_predict"
    command = [*board.compiler, "-Os", "-std=gnu99", "-ffunction-sections", "-fdata-sections"]
    command += [f"-DANSWER={answer}", *flags, "main.c", "-o", "run.elf"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if re.search("is too large|will not fit|overflowed by|relocation truncated", done.stderr):
        raise TooLargeError
    if done.returncode:
        raise SystemExit(f"embedded: {' '.join(command)}: {done.stderr[:2000]}")
