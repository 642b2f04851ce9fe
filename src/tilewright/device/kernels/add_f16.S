// add_f16: z = x + y, element by element, on half-precision vectors.
//
// Called by supervisor code:
//   $m2  z, $m3  x, $m4  y   byte addresses, multiples of 8
//   $m5  atoms               64-bit atoms in each vector, that is four halves; 0 is allowed
//   $lr  return address
// Changes $m6 and $m7. Worker w of six takes the atoms w, w + 6, w + 12, …; nothing is read beyond
// the vectors. z may be x or y. Three bundles per atom and worker.

#include "tile_defines.h"

// What the workers find at their vertex base.
#define STATE_X     0
#define STATE_Y     1
#define STATE_Z     2
#define STATE_ATOMS 3
#define STATE_WORDS 4

  .section .text.add_f16, "ax"
  .globl add_f16
  .type add_f16, @function
  .supervisor
  .align 8
DEF_STACK_USAGE 0 add_f16
add_f16:
  setzi   $m6, add_f16_state
  st32    $m3, $m6, $mzero, STATE_X
  st32    $m4, $m6, $mzero, STATE_Y
  st32    $m2, $m6, $mzero, STATE_Z
  st32    $m5, $m6, $mzero, STATE_ATOMS
  setzi   $m7, add_f16_worker
  runall  $m7, $m6, 0
  sync    TEXCH_SYNCZONE_LOCAL
  br      $lr
  .size add_f16, . - add_f16

#define WORKER m0
#define X      m1
#define Y      m2
#define Z      m3
#define COUNT  m4
#define SCRATCH m5

// The vectors that two steps of the loop hold at the same time.
#define X_ATOM a0:1
#define Y_ATOM a2:3
#define Z_ATOM a4:5

.macro LOAD_STATE register index
  ld32    \register, $mvertex_base, $mzero, \index
.endm

  .section .text.add_f16_worker, "ax"
  .type add_f16_worker, @function
  .worker
  .align 8
DEF_STACK_USAGE 0 add_f16_worker
add_f16_worker:
  get     $WORKER, $WSR
  and     $WORKER, $WORKER, CSR_W_WSR__CTXTID_M1__MASK
  LOAD_STATE $X, STATE_X
  LOAD_STATE $Y, STATE_Y
  LOAD_STATE $Z, STATE_Z
  LOAD_STATE $COUNT, STATE_ATOMS

  // Atoms for this worker: (atoms + 5 - worker) / 6, by multiplication with 2**18 / 6 rounded up,
  // which is exact for every number of atoms that fits into tile memory.
  add     $COUNT, $COUNT, CTXT_WORKERS - 1
  sub     $COUNT, $COUNT, $WORKER
  setzi   $SCRATCH, ((1 << 18) + CTXT_WORKERS - 1) / CTXT_WORKERS
  mul     $COUNT, $COUNT, $SCRATCH
  shr     $COUNT, $COUNT, 18
  brz     $COUNT, .Ldone

  shl     $WORKER, $WORKER, 3
  add     $X, $X, $WORKER
  add     $Y, $Y, $WORKER
  add     $Z, $Z, $WORKER

  ld64step $X_ATOM, $mzero, $X+=, CTXT_WORKERS
  ld64step $Y_ATOM, $mzero, $Y+=, CTXT_WORKERS
  add     $COUNT, $COUNT, -1

  // While one atom is added and stored, the next is loaded: a bundle reads its registers before
  // it writes any.
  .align 8
  {
    rpt   $COUNT, (.Lend - .Lloop) / 8 - 1
    fnop
  }
.Lloop:
  {
    ld64step $X_ATOM, $mzero, $X+=, CTXT_WORKERS
    f16v4add $Z_ATOM, $X_ATOM, $Y_ATOM
  }
  { ld64step $Y_ATOM, $mzero, $Y+=, CTXT_WORKERS ; fnop }
  { st64step $Z_ATOM, $mzero, $Z+=, CTXT_WORKERS ; fnop }
.Lend:
  f16v4add $Z_ATOM, $X_ATOM, $Y_ATOM
  st64step $Z_ATOM, $mzero, $Z+=, CTXT_WORKERS
.Ldone:
  exitz   $mzero
  .size add_f16_worker, . - add_f16_worker

  .section .bss.add_f16, "aw", @nobits
  .align 4
  .type add_f16_state, @object
add_f16_state:
  .space 4 * STATE_WORDS
  .size add_f16_state, . - add_f16_state
