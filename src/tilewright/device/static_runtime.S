// Functions of the run time, which programs of tiles call beside kernels.
//
//   start_up         after loading: control registers as programs and kernels expect them, all
//                    workers started once, all tiles together
//   await_session    wait until the host has opened its session
//   finish           the end of a program: tell in the completion word, stop; does not return
//   rendezvous       make sure that no worker runs, before a phase that no kernel stands before
//   sample_from      $m2 address: where the next cycle sample goes
//   sample_cycles    put the cycle counter there, and go on by a word
//   advance_words    $m2 table, $m3 entries - 1, $m4 times
//                    adds `times` steps to each word of a table of (address, step)
//
// Functions may change $m0 to $m9. Words that `advance_words` changes may be instructions: whoever
// calls it runs them only after many others. The linker is told COMPLETION_WORD, STACK_TOP,
// WORKER_SCRATCH_SIZE and NEUTRAL_MUX.

#include "tile_defines.h"

.macro FUNCTION name
  .section .text.\name, "ax"
  .globl \name
  .type \name, @function
  .supervisor
DEF_STACK_USAGE 0 \name
\name:
.endm

.macro FUNCTION_END name
  .size \name, . - \name
.endm

  FUNCTION start_up
  setzi   $sp, STACK_TOP
  setzi   $m0, 0
  put     $FP_ICTL, $m0
  put     $INCOMING_BASE, $m0
  put     $OUTGOING_BASE, $m0
  setzi   $m0, NEUTRAL_MUX
  put     $INCOMING_MUX, $m0
  setzi   $m0, STACK_TOP
  setzi   $m1, WORKER_SCRATCH_SIZE
  .irp worker, 0, 1, 2, 3, 4, 5
  put     $WORKER\worker\()_BASE, $m0
  add     $m0, $m0, $m1
  .endr
  setzi   $m0, idle_worker
  runall  $m0, $mzero, 0
  sync    TEXCH_SYNCZONE_LOCAL
  sync    TEXCH_SYNCZONE_INTERNAL
  br      $lr
  FUNCTION_END start_up

  FUNCTION await_session
  sync    TEXCH_SYNCZONE_GS2H
  br      $lr
  FUNCTION_END await_session

  FUNCTION finish
  setzi   $m0, COMPLETION_WORD
  setzi   $m1, 1
  st32    $m1, $m0, $mzero, 0
  trap    0
  FUNCTION_END finish

  FUNCTION rendezvous
  setzi   $m0, idle_worker
  runall  $m0, $mzero, 0
  sync    TEXCH_SYNCZONE_LOCAL
  br      $lr
  FUNCTION_END rendezvous

  .section .text.idle_worker, "ax"
  .type idle_worker, @function
  .worker
idle_worker:
  exitz   $mzero
  .size idle_worker, . - idle_worker

  .section .bss.sample_place, "aw", @nobits
  .align 4
  .type sample_place, @object
sample_place:
  .space 4
  .size sample_place, . - sample_place

  FUNCTION sample_from
  setzi   $m0, sample_place
  st32    $m2, $m0, $mzero, 0
  br      $lr
  FUNCTION_END sample_from

  FUNCTION sample_cycles
  get     $m0, $SCOUNT_L
  setzi   $m1, sample_place
  ld32    $m2, $m1, $mzero, 0
  st32    $m0, $m2, $mzero, 0
  add     $m2, $m2, 4
  st32    $m2, $m1, $mzero, 0
  br      $lr
  FUNCTION_END sample_cycles

#define TABLE   m2
#define LEFT    m3
#define TIMES   m4
#define ADDRESS m5
#define STEP    m6
#define HELD    m7

  FUNCTION advance_words
  ld32    $ADDRESS, $TABLE, $mzero, 0
  ld32    $STEP, $TABLE, $mzero, 1
  mul     $STEP, $STEP, $TIMES
  ld32    $HELD, $ADDRESS, $mzero, 0
  add     $HELD, $HELD, $STEP
  st32    $HELD, $ADDRESS, $mzero, 0
  add     $TABLE, $TABLE, 8
  brnzdec $LEFT, advance_words
  br      $lr
  FUNCTION_END advance_words
