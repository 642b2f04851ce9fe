// Functions that programs call between kernels.
//
//   advance_words: $m2 table, $m3 entries - 1, $m4 times
//                  adds `times` steps to each word of a table of (address, step)
//
// Words may be instructions: whoever calls it runs them only after many others.

#include "tile_defines.h"

#define TABLE   m2
#define LEFT    m3
#define TIMES   m4
#define ADDRESS m5
#define STEP    m6
#define HELD    m7

  .section .text.advance_words, "ax"
  .globl advance_words
  .type advance_words, @function
  .supervisor
DEF_STACK_USAGE 0 advance_words
advance_words:
  ld32    $ADDRESS, $TABLE, $mzero, 0
  ld32    $STEP, $TABLE, $mzero, 1
  mul     $STEP, $STEP, $TIMES
  ld32    $HELD, $ADDRESS, $mzero, 0
  add     $HELD, $HELD, $STEP
  st32    $HELD, $ADDRESS, $mzero, 0
  add     $TABLE, $TABLE, 8
  brnzdec $LEFT, advance_words
  br      $lr
  .size advance_words, . - advance_words
