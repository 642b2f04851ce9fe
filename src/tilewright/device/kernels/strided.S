// Sums, differences, products and quotients of two arrays whose elements lie at distances of their
// own: rows of elements at even steps, evenly apart. So operands broadcast, or meet in another order.
//
//   z[j · z pitch + i] = x[j · x pitch + i · x step] ∘ y[j · y pitch + i · y step],
//   0 <= j < rows, 0 <= i < n
//
//   add_strided_f16, sub_, mul_, div_, and _f32:
//     $m2 z, $m3 x, $m4 y   byte addresses: of z a multiple of 4, of x and y of an element's size; z
//                           may be x or y if that one's pitch and step are those of z
//     $m5 table             z pitch, x pitch, y pitch in bytes, x step, y step in elements, n, rows
//
// Pitches and steps may be any numbers, negative ones too, but the z pitch of halves is a multiple of
// 4. Nothing but the rows of z is written, a half beside the last one of odd rows of halves with 0, and
// nothing but the elements wanted is read. A worker takes every sixth row: seven bundles for two halves,
// three for a single.

#include "vector.inc"

#define TABLE m6
#define X_STEP m7
#define Y_STEP m8
#define X_AT m9
#define Y_AT m10
#define Z_AT m11

#define Z_PITCH 0
#define X_PITCH 1
#define Y_PITCH 2
#define STEP_OF_X 3
#define STEP_OF_Y 4
#define IN_ROW 5
#define ROWS 6

// The worker's first row of an operand.
.macro FIRST_ROW operand pitch
  ld32    $SCRATCH, $TABLE, $mzero, \pitch
  mul     $SCRATCH, $WORKER, $SCRATCH
  add     $\operand, $\operand, $SCRATCH
.endm

.macro NEXT_ROW operand pitch
  ld32    $SCRATCH, $TABLE, $mzero, \pitch
  mul     $SCRATCH, $SCRATCH, CTXT_WORKERS
  add     $\operand, $\operand, $SCRATCH
.endm

.macro STRIDED_START name
  VECTOR_SUPERVISOR \name, m2, m3, m4, m5
  WORKER_START \name
  ld32    $TABLE, $mvertex_base, $mzero, 3
  ld32    $COUNT, $TABLE, $mzero, ROWS
  TAKE_SHARE
  brz     $COUNT, .L\name\()_done
  add     $COUNT, $COUNT, -1
  ld32    $Z, $mvertex_base, $mzero, 0
  ld32    $X, $mvertex_base, $mzero, 1
  ld32    $Y, $mvertex_base, $mzero, 2
  ld32    $X_STEP, $TABLE, $mzero, STEP_OF_X
  ld32    $Y_STEP, $TABLE, $mzero, STEP_OF_Y
  FIRST_ROW Z, Z_PITCH
  FIRST_ROW X, X_PITCH
  FIRST_ROW Y, Y_PITCH
.L\name\()_row:
  mov     $X_AT, $X
  mov     $Y_AT, $Y
  mov     $Z_AT, $Z
  ld32    $WORKER, $TABLE, $mzero, IN_ROW
.endm

.macro STRIDED_END name
  NEXT_ROW Z, Z_PITCH
  NEXT_ROW X, X_PITCH
  NEXT_ROW Y, Y_PITCH
  brnzdec $COUNT, .L\name\()_row
  VECTOR_END \name
.endm

// `work`: bundles that take two halves in $a0 and two in $a2 to $a4.
.macro STRIDED_F16 name work operation
  STRIDED_START \name
  shr     $SCRATCH, $WORKER, 1
  ALIGNED_RPT \name, $SCRATCH, loop
.L\name\()_loop:
  { ldb16step $a0, $mzero, $X_AT+=, $X_STEP ; fnop }
  { ldb16step $a1, $mzero, $X_AT+=, $X_STEP ; fnop }
  { ldb16step $a2, $mzero, $Y_AT+=, $Y_STEP ; sort4x16lo $a0, $a0, $a1 }
  { ldb16step $a3, $mzero, $Y_AT+=, $Y_STEP ; fnop }
  { nop ; sort4x16lo $a2, $a2, $a3 }
  \work \operation
  { st32step $a4, $mzero, $Z_AT+=, 1 ; fnop }
.L\name\()_loop_end:
  and     $SCRATCH, $WORKER, 1
  brz     $SCRATCH, .L\name\()_even
  ldb16   $a0, $X_AT, $mzero, 0
  ldb16   $a2, $Y_AT, $mzero, 0
  \work \operation
  sort4x16lo $a4, $a4, $azero
  st32    $a4, $Z_AT, $mzero, 0
.L\name\()_even:
  STRIDED_END \name
.endm

.macro STRIDED_F32 name operation
  STRIDED_START \name
  ld32step $a0, $mzero, $X_AT+=, $X_STEP
  ld32step $a1, $mzero, $Y_AT+=, $Y_STEP
  add     $WORKER, $WORKER, -1
  ALIGNED_RPT \name, $WORKER, loop
.L\name\()_loop:
  { ld32step $a0, $mzero, $X_AT+=, $X_STEP ; \operation $a2, $a0, $a1 }
  { ld32step $a1, $mzero, $Y_AT+=, $Y_STEP ; fnop }
  { st32step $a2, $mzero, $Z_AT+=, 1 ; fnop }
.L\name\()_loop_end:
  \operation $a2, $a0, $a1
  st32    $a2, $Z_AT, $mzero, 0
  STRIDED_END \name
.endm

.macro AT_ONCE operation
  { nop ; \operation $a4, $a0, $a2 }
.endm

.macro AS_SINGLES operation
  { nop ; f16v2tof32 $a6:7, $a2 }
  { nop ; f16v2tof32 $a4:5, $a0 }
  { nop ; \operation $a4, $a4, $a6 }
  { nop ; \operation $a5, $a5, $a7 }
  { nop ; f32v2tof16 $a4, $a4:5 }
.endm

  STRIDED_F16 add_strided_f16, AT_ONCE, f16v2add
  STRIDED_F16 sub_strided_f16, AT_ONCE, f16v2sub
  STRIDED_F16 mul_strided_f16, AT_ONCE, f16v2mul
  STRIDED_F16 div_strided_f16, AS_SINGLES, f32div
  STRIDED_F32 add_strided_f32, f32add
  STRIDED_F32 sub_strided_f32, f32sub
  STRIDED_F32 mul_strided_f32, f32mul
  STRIDED_F32 div_strided_f32, f32div
