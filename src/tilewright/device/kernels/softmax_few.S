// softmax_few_f16: softmax of halves, as softmax_f16, of so few rows that several workers share each.
//
//   $m2 z, $m3 x   as there; z may be x
//   $m4 parts      workers to a row: 6 / parts rows
//   $m5 n, $m6 s, $m7 count, $m8 first   as there
//   $m9 share      2**18 / parts, rounded up
//
// Worker w works on row w / parts, and takes every parts-th atom of it, from its part w % parts on. Three
// launches find the parts' largest values, their exponentials and sums, and divide. Registers last
// from one to the next.

#include "softmax_atoms.inc"

#define STATE_PARTS STATE_ROWS
#define STATE_SHARE 7
#define STATE_LARGEST 8
#define STATE_SUMS (STATE_LARGEST + CTXT_WORKERS)

// Of each worker; FURTHER, X and Z are of its row, and X and Z at its first atom.
#define PARTS     m2
#define OWN       m4
#define ROW       m6
#define IS_LAST   m7
#define ALL_OWN   m11
#define OF_WORKER WORKER
#define OF_ROW    ROW
#define AT        m9

// By multiplication, which is exact for what fits into tile memory.
.macro SHARE_OF count
  mul     \count, \count, $SCRATCH
  shr     \count, \count, 18
.endm

// Functions of the later launches.
.macro LATER_WORKER stage
  .section .text.softmax_few_f16_worker, "ax"
  .type softmax_few_f16_\stage, @function
  .worker
  .align 8
DEF_STACK_USAGE 0 softmax_few_f16_\stage
softmax_few_f16_\stage:
  .set softmax_few_f16_\stage\()_worker, softmax_few_f16_\stage
.endm

.macro LATER_WORKER_END stage
  exitz   $mzero
  .size softmax_few_f16_\stage, . - softmax_few_f16_\stage
.endm

  VECTOR_FUNCTION softmax_few_f16
  .set    .Lwords, 0
  .irp register, m2, m3, m4, m5, m6, m7, m8, m9
    st32  $\register, $m0, $mzero, .Lwords
    .set  .Lwords, .Lwords + 1
  .endr
  runall  $m1, $m0, 0
  setzi   $m1, softmax_few_f16_exponentials
  sync    TEXCH_SYNCZONE_LOCAL
  runall  $m1, $m0, 0
  setzi   $m1, softmax_few_f16_divide
  sync    TEXCH_SYNCZONE_LOCAL
  runall  $m1, $m0, 0
  sync    TEXCH_SYNCZONE_LOCAL
  br      $lr
  .size softmax_few_f16, . - softmax_few_f16

  .section .bss.softmax_few_f16, "aw", @nobits
  .align 4
  .type softmax_few_f16_state, @object
softmax_few_f16_state:
  .space 4 * (STATE_SUMS + CTXT_WORKERS)
  .size softmax_few_f16_state, . - softmax_few_f16_state

  ROW_MASKS softmax_few_f16, halves
  WORKER_START softmax_few_f16
  ld32    $PARTS, $mvertex_base, $mzero, STATE_PARTS
  ld32    $SCRATCH, $mvertex_base, $mzero, STATE_SHARE
  mov     $ROW, $WORKER
  SHARE_OF $ROW
  // The part of the row in m7.
  mul     $m7, $ROW, $PARTS
  sub     $m7, $WORKER, $m7
  // What the row sees, its atoms but the last in m9, all of them but the last in m11.
  ld32    $m8, $mvertex_base, $mzero, STATE_N
  ld32    $m10, $mvertex_base, $mzero, STATE_COUNT
  ld32    $m10, $m10, $mzero, 0
  ld32    $m9, $mvertex_base, $mzero, STATE_FIRST
  min     $m10, $m10, $m8
  max     $m10, $m10, 1
  add     $m9, $m9, $ROW
  add     $m9, $m9, 1
  min     $m9, $m9, $m10
  add     $m11, $m8, -1
  shr     $m11, $m11, 2
  // The row's places, from the worker's first atom on.
  add     $m10, $m11, 1
  mul     $m10, $m10, $ROW
  add     $m10, $m10, $m7
  shl     $m10, $m10, 3
  ld32    $Z, $mvertex_base, $mzero, STATE_Z
  ld32    $X, $mvertex_base, $mzero, STATE_X
  add     $Z, $Z, $m10
  add     $X, $X, $m10
  // Its atoms of the row, and those but the last that the row sees.
  add     $m10, $PARTS, -1
  sub     $m10, $m10, $m7
  add     $ALL_OWN, $m11, $m10
  add     $ALL_OWN, $ALL_OWN, 1
  SHARE_OF $ALL_OWN
  add     $OWN, $m9, -1
  shr     $OWN, $OWN, 2
  mov     $m8, $OWN
  add     $OWN, $OWN, $m10
  SHARE_OF $OWN
  // Whether the last one is its own.
  mul     $m10, $OWN, $PARTS
  add     $m10, $m10, $m7
  cmpeq   $IS_LAST, $m10, $m8
  and     $SCRATCH, $m9, 3
  shl     $SCRATCH, $SCRATCH, MASK_BYTES_LOG2
  setzi   $MASKS, softmax_few_f16_masks
  add     $MASKS, $MASKS, $SCRATCH

  setzi   $a4, -65504.0h
  sort4x16lo $a4, $a4, $a4
  { mov   $X_AT, $X ; mov $a5, $a4 }
  brz     $IS_LAST, .Lsoftmax_few_f16_whole
  mul     $SCRATCH, $OWN, $PARTS
  shl     $SCRATCH, $SCRATCH, 3
  LAST_HALVES $SCRATCH
.Lsoftmax_few_f16_whole:
  mov     $a2:3, $a4:5
  mov     $a0:1, $a4:5
  ALIGNED_RPT softmax_few_f16, $OWN, max
.Lsoftmax_few_f16_max:
  { ld64step $a0:1, $mzero, $X_AT+=, $PARTS ; f16v4max $a2:3, $a2:3, $a0:1 }
.Lsoftmax_few_f16_max_end:
  LARGEST_HALF
  // In bytes from the state: what the row's workers find.
  mul     $OF_ROW, $ROW, $PARTS
  shl     $OF_ROW, $OF_ROW, 2
  shl     $OF_WORKER, $WORKER, 2
  st32    $a7, $mvertex_base, $OF_WORKER, STATE_LARGEST
  VECTOR_END softmax_few_f16

  LATER_WORKER exponentials
  add     $AT, $mvertex_base, $OF_ROW
  add     $AT, $AT, 4 * STATE_LARGEST
  ld32step $a7, $mzero, $AT+=, 1
  add     $SCRATCH, $PARTS, -1
  ALIGNED_RPT softmax_few_f16_exponentials, $SCRATCH, largest
.Lsoftmax_few_f16_exponentials_largest:
  { ld32step $a0, $mzero, $AT+=, 1 ; fnop }
  { nop ; f32max $a7, $a7, $a0 }
.Lsoftmax_few_f16_exponentials_largest_end:
  { mov   $X_AT, $X ; f32sub $a7, $azero, $a7 }
  CLEAR_SUMS
  { ld32  $a6, $mvertex_base, $mzero, STATE_SCALE ; fnop }
  brz     $OWN, .Lsoftmax_few_f16_last
  mov     $Z_AT, $Z
  ld64step $a4:5, $mzero, $X_AT+=, $PARTS
  add     $SCRATCH, $OWN, -1
  FOUR_EXPONENTIALS nop
  brz     $SCRATCH, .Lsoftmax_few_f16_single
  ADD_EXPONENTIALS ld64step $a4:5, $mzero, $X_AT+=, $PARTS
  add     $SCRATCH, $SCRATCH, -1
  ALIGNED_RPT softmax_few_f16_exponentials, $SCRATCH, exp
.Lsoftmax_few_f16_exponentials_exp:
  FOUR_EXPONENTIALS st64step $a0:1, $mzero, $Z_AT+=, $PARTS
  ADD_EXPONENTIALS ld64step $a4:5, $mzero, $X_AT+=, $PARTS
.Lsoftmax_few_f16_exponentials_exp_end:
  FOUR_EXPONENTIALS st64step $a0:1, $mzero, $Z_AT+=, $PARTS
.Lsoftmax_few_f16_single:
  ADD_EXPONENTIALS nop
  st64step $a0:1, $mzero, $Z_AT+=, $PARTS
.Lsoftmax_few_f16_last:
  brz     $IS_LAST, .Lsoftmax_few_f16_added
  mul     $SCRATCH, $OWN, $PARTS
  shl     $SCRATCH, $SCRATCH, 3
  LAST_HALVES $SCRATCH
  LAST_EXPONENTIALS nop
  st64    $a0:1, $Z, $SCRATCH, 0
.Lsoftmax_few_f16_added:
  TAKE_SUM
  st32    $a0, $mvertex_base, $OF_WORKER, STATE_SUMS
  LATER_WORKER_END exponentials

  LATER_WORKER divide
  add     $AT, $mvertex_base, $OF_ROW
  add     $AT, $AT, 4 * STATE_SUMS
  ld32step $a6, $mzero, $AT+=, 1
  add     $SCRATCH, $PARTS, -1
  ALIGNED_RPT softmax_few_f16_divide, $SCRATCH, sum
.Lsoftmax_few_f16_divide_sum:
  { ld32step $a0, $mzero, $AT+=, 1 ; fnop }
  { nop ; f32add $a6, $a6, $a0 }
.Lsoftmax_few_f16_divide_sum_end:
  { mov   $Z_AT, $Z ; f32oox $a6, $a6 }
  { mov   $X_AT, $Z ; f32tof16 $a6, $a6 }
  add     $OWN, $OWN, $IS_LAST
  ALIGNED_RPT softmax_few_f16_divide, $OWN, scale
.Lsoftmax_few_f16_divide_scale:
  { ld64step $a0:1, $mzero, $X_AT+=, $PARTS ; fnop }
  { nop ; f16v4mul $a2:3, $a6:BL, $a0:1 }
  { st64step $a2:3, $mzero, $Z_AT+=, $PARTS ; fnop }
.Lsoftmax_few_f16_divide_scale_end:
  sub     $SCRATCH, $ALL_OWN, $OWN
  ALIGNED_RPT softmax_few_f16_divide, $SCRATCH, clear
.Lsoftmax_few_f16_divide_clear:
  { st64step $azeros, $mzero, $Z_AT+=, $PARTS ; fnop }
.Lsoftmax_few_f16_divide_clear_end:
  LATER_WORKER_END divide
