// The smallest program around a kernel: add two vectors of eight halves, then stop at a trap.

#include "tile_defines.h"

#define ATOMS 2

  .section .text._start, "ax"
  .globl _start
  .type _start, @function
  .supervisor
DEF_STACK_SIZE_OWN 0 _start
_start:
  setzi   $m2, sum
  setzi   $m3, left
  setzi   $m4, right
  setzi   $m5, ATOMS
  call    $lr, add_f16
  trap    0
  .size _start, . - _start

  .section .rodata.demo, "a"
  .align 8
  .type left, @object
left:
  .half 1.0h, 2.0h, 3.0h, 4.0h, 5.0h, 6.0h, 7.0h, 8.0h
  .size left, . - left
  .type right, @object
right:
  .half 0.5h, 0.5h, 0.5h, 0.5h, -1.0h, -2.0h, -4.0h, infh
  .size right, . - right

  .section .bss.demo, "aw", @nobits
  .align 8
  .type sum, @object
sum:
  .space 8 * ATOMS
  .size sum, . - sum
