// Matrix products of singles: C[rows][columns] = A[rows][inner] · B[inner][columns] + a start.
//
//   $m2  C        panels of 16 columns, each rows × 16 in order of rows; interleaved memory
//   $m3  A        panels of 8 inner elements, each rows × 8 in order of rows
//   $m4  B        blocks of 16 columns × 8 inner elements; all blocks of 16 columns after another
//   $m5  rows     at least 1
//   $m6  inner    blocks of 8, at least 1
//   $m7  columns  blocks of 16, at least 1
//   $m8  start    0: from zero; 1: from C; else the address of a row of C, which all rows start as
//
// Addresses are multiples of 16. Weights in interleaved memory are loaded 128 bits at a time. A may
// share no memory element with C or the row.
//
// A row takes eight steps of the AMP, one for each inner element. Step s of a worker takes up
// element s of A, gives atom s - 8 of C, and takes in atom s + 8 of the partial sums. An atom of A
// lasts for two steps. With partial sums, results are stored two steps late, and loads of partial
// sums are then 19 atoms ahead, an odd number, as they must be in interleaved memory.

#include "gemm.inc"
#include "gemm_supervisor.inc"

#define C_ATOMS 8
#define C_ROW_LOG2 6
#define LATER_ROW(atoms) (CTXT_WORKERS * (atoms) - ((atoms) - 1))
#define BACK_IN_C (-(C_ATOMS - 1))

// Packed addresses: first partial sums, or A where there are none; second A; third C. The fields of
// STRIDES: to the next row of A, of C; back to the start of a row of C.
#define SINGLE_STRIDES (LATER_ROW(ROW_ATOMS) | (LATER_ROW(C_ATOMS) << 10) | ((BACK_IN_C & 0x3ff) << 20))

#define FURTHER m9

#undef X
#undef PARTIAL
#define PARTIAL a0:1
#define X       a2:3
#define X_EVEN  a2
#define X_ODD   a3

#define TAKE_BOTH(result, selectors)    ld2xst64pace $a0:3, result, $ATOMS+=, $STRIDES, selectors
#define TAKE_PARTIAL(result, selectors) ldst64pace $PARTIAL, result, $ATOMS+=, $STRIDES, selectors
#define TAKE_X(result, selectors)       ldst64pace $X, result, $ATOMS+=, $STRIDES, selectors

// Phases by number, also in repetitions.
  .set .Lphase_0, TAMP_F32_E4_P0
  .set .Lphase_1, TAMP_F32_E4_P1
  .set .Lphase_2, TAMP_F32_E4_P2
  .set .Lphase_3, TAMP_F32_E4_P3
  .set .Lphase_4, TAMP_F32_E4_P4
  .set .Lphase_5, TAMP_F32_E4_P5
  .set .Lphase_6, TAMP_F32_E4_P6
  .set .Lphase_7, TAMP_F32_E4_P7
#define AMP(result, x, partial, phase) f32sisov2amp $result, $x, $partial, .Lphase_##phase

.macro LAUNCH_ADDRESSES partials
  { LOAD_STATE C, STATE_C ; setzi $a0, 1 << CSR_W_FP_CLR__ZAACC__SHIFT }
  { LOAD_STATE A, STATE_A ; uput $FP_CLR, $a0 }
  add     $C, $C, $C_OFFSET
  add     $A, $A, $A_OFFSET
  .ifc \partials, bias
  LOAD_STATE P, STATE_BIAS
  .endif
  .ifc \partials, c
  mov     $P, $C
  .endif
.endm

// The eight steps of a row with x from memory, and those that let its results out, for a worker that
// does one row at a time. X holds the first atom.
.macro LONE_ROW
  AMP(EVEN, X_EVEN, azeros, 0)
  { ld64step $X, $mzero, $A+=, 1 ; AMP(EVEN, X_ODD, azeros, 1) }
  AMP(EVEN, X_EVEN, azeros, 2)
  { ld64step $X, $mzero, $A+=, 1 ; AMP(EVEN, X_ODD, azeros, 3) }
  AMP(EVEN, X_EVEN, azeros, 4)
  { ld64step $X, $mzero, $A+=, LATER_ROW(ROW_ATOMS) ; AMP(EVEN, X_ODD, azeros, 5) }
  AMP(EVEN, X_EVEN, azeros, 6)
  AMP(EVEN, X_ODD, azeros, 7)
  AMP(EVEN, azero, azeros, 0)
  .irp phase, 1, 2, 3, 4, 5, 6, 7
  { st64step $EVEN, $mzero, $C+=, 1 ; f32sisov2amp $EVEN, $azero, $azeros, .Lphase_\phase }
  .endr
  st64step $EVEN, $mzero, $C+=, LATER_ROW(C_ATOMS)
.endm

// --- C = A · B: results are stored one step late. ---
  GEMM_WORKER gemm_f32_zero, C_ROW_LOG2
  add     $BUT_TWO, $ROWS, -2
  brneg   $BUT_TWO, .Lzero_few
  LAUNCH_ADDRESSES none
  ld64step $X, $mzero, $A+=, 1
  AMP(EVEN, X_EVEN, azeros, 0)
  { ld64step $X, $mzero, $A+=, 1 ; AMP(EVEN, X_ODD, azeros, 1) }
  AMP(EVEN, X_EVEN, azeros, 2)
  { ld64step $X, $mzero, $A+=, 1 ; AMP(EVEN, X_ODD, azeros, 3) }
  AMP(EVEN, X_EVEN, azeros, 4)
  { ld64step $X, $mzero, $A+=, LATER_ROW(ROW_ATOMS) ; AMP(EVEN, X_ODD, azeros, 5) }
  AMP(EVEN, X_EVEN, azeros, 6)
  { ld64step $X, $mzero, $A+=, 1 ; AMP(EVEN, X_ODD, azeros, 7) }
  { tapack $ATOMS, $A, $mzero, $C ; AMP(EVEN, X_EVEN, azeros, 0) }
  ROW_REPEAT gemm_f32_zero, $BUT_TWO, C_ATOMS
  { TAKE_X($EVEN, 0b0000) ; AMP(EVEN, X_ODD, azeros, 1) }
  { KEEP($EVEN) ; AMP(EVEN, X_EVEN, azeros, 2) }
  { TAKE_X($EVEN, 0b0000) ; AMP(EVEN, X_ODD, azeros, 3) }
  { KEEP($EVEN) ; AMP(EVEN, X_EVEN, azeros, 4) }
  { TAKE_X($EVEN, 0b0001) ; AMP(EVEN, X_ODD, azeros, 5) }
  { KEEP($EVEN) ; AMP(EVEN, X_EVEN, azeros, 6) }
  { TAKE_X($EVEN, 0b0000) ; AMP(EVEN, X_ODD, azeros, 7) }
  { KEEP_END($EVEN) ; AMP(EVEN, X_EVEN, azeros, 0) }
  // The last row.
  { TAKE_X($EVEN, 0b0000) ; AMP(EVEN, X_ODD, azeros, 1) }
  { KEEP($EVEN) ; AMP(EVEN, X_EVEN, azeros, 2) }
  { TAKE_X($EVEN, 0b0000) ; AMP(EVEN, X_ODD, azeros, 3) }
  { KEEP($EVEN) ; AMP(EVEN, X_EVEN, azeros, 4) }
  { TAKE_X($EVEN, 0b0000) ; AMP(EVEN, X_ODD, azeros, 5) }
  { KEEP($EVEN) ; AMP(EVEN, X_EVEN, azeros, 6) }
  { KEEP($EVEN) ; AMP(EVEN, X_ODD, azeros, 7) }
  { KEEP_END($EVEN) ; AMP(EVEN, azero, azeros, 0) }
  .irp phase, 1, 2, 3, 4, 5, 6, 7
  { KEEP($EVEN) ; f32sisov2amp $EVEN, $azero, $azeros, .Lphase_\phase }
  .endr
  KEEP($EVEN)
.Lzero_done:
  exitz   $mzero
.Lzero_few:
  brz     $ROWS, .Lzero_done
  LAUNCH_ADDRESSES none
  ld64step $X, $mzero, $A+=, 1
  LONE_ROW
  exitz   $mzero
  .size gemm_f32_zero, . - gemm_f32_zero

// --- C = A · B + partial sums: those of C, or one row for all. ---
//
// `next` is from the last atom of a row of partial sums to the first of the next, in atoms, and
// `end` the selector for it.
.macro GEMM_F32_WITH_PARTIALS name partials next end
  GEMM_WORKER \name, C_ROW_LOG2
  brneg   $BUT_THREE, .L\name\()_few
  LAUNCH_ADDRESSES \partials
  // The partial sums of the first row go in.
  ld64step $PARTIAL, $mzero, $P+=, 1
  .irp phase, 0, 1, 2, 3, 4, 5
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; f32sisov2amp $EVEN, $azero, $PARTIAL, .Lphase_\phase }
  .endr
  { ld64step $PARTIAL, $mzero, $P+=, \next ; AMP(EVEN, azero, PARTIAL, 6) }
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(EVEN, azero, PARTIAL, 7) }
  // The first row and two steps of the second: nothing to store yet.
  ld64step $X, $mzero, $A+=, 1
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(EVEN, X_EVEN, PARTIAL, 0) }
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(ODD, X_ODD, PARTIAL, 1) }
  ld64step $X, $mzero, $A+=, 1
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(EVEN, X_EVEN, PARTIAL, 2) }
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(ODD, X_ODD, PARTIAL, 3) }
  ld64step $X, $mzero, $A+=, 1
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(EVEN, X_EVEN, PARTIAL, 4) }
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(ODD, X_ODD, PARTIAL, 5) }
  ld64step $X, $mzero, $A+=, LATER_ROW(ROW_ATOMS)
  { ld64step $PARTIAL, $mzero, $P+=, \next ; AMP(EVEN, X_EVEN, PARTIAL, 6) }
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(ODD, X_ODD, PARTIAL, 7) }
  ld64step $X, $mzero, $A+=, 1
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(EVEN, X_EVEN, PARTIAL, 0) }
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; AMP(ODD, X_ODD, PARTIAL, 1) }
  ld64step $X, $mzero, $A+=, 1
  tapack  $ATOMS, $P, $A, $C
  ROW_REPEAT \name, $BUT_THREE, C_ATOMS
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, PARTIAL, 2) }
  { TAKE_BOTH($ODD, 0b000000) ; AMP(ODD, X_ODD, PARTIAL, 3) }
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, PARTIAL, 4) }
  { TAKE_BOTH($ODD, 0b000100) ; AMP(ODD, X_ODD, PARTIAL, 5) }
  { TAKE_PARTIAL($EVEN, \end) ; AMP(EVEN, X_EVEN, PARTIAL, 6) }
  { TAKE_BOTH($ODD, 0b000000) ; AMP(ODD, X_ODD, PARTIAL, 7) }
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, PARTIAL, 0) }
  { TAKE_BOTH($ODD, 0b100000) ; AMP(ODD, X_ODD, PARTIAL, 1) }
  // The row before the last. All partial sums are then loaded, and loads go back to the last row's.
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, PARTIAL, 2) }
  { TAKE_BOTH($ODD, 0b000000) ; AMP(ODD, X_ODD, PARTIAL, 3) }
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, PARTIAL, 4) }
  { TAKE_BOTH($ODD, 0b000100) ; AMP(ODD, X_ODD, PARTIAL, 5) }
  { TAKE_PARTIAL($EVEN, 0b0011) ; AMP(EVEN, X_EVEN, PARTIAL, 6) }
  { TAKE_BOTH($ODD, 0b000000) ; AMP(ODD, X_ODD, PARTIAL, 7) }
  // The last row.
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, azeros, 0) }
  { TAKE_BOTH($ODD, 0b100000) ; AMP(ODD, X_ODD, azeros, 1) }
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, azeros, 2) }
  { TAKE_BOTH($ODD, 0b000000) ; AMP(ODD, X_ODD, azeros, 3) }
  { TAKE_PARTIAL($EVEN, 0b0000) ; AMP(EVEN, X_EVEN, azeros, 4) }
  { TAKE_BOTH($ODD, 0b000000) ; AMP(ODD, X_ODD, azeros, 5) }
  { KEEP($EVEN) ; AMP(EVEN, X_EVEN, azeros, 6) }
  { KEEP($ODD) ; AMP(ODD, X_ODD, azeros, 7) }
  { KEEP($EVEN) ; AMP(EVEN, azero, azeros, 0) }
  { KEEP_END($ODD) ; AMP(ODD, azero, azeros, 1) }
  { KEEP($EVEN) ; AMP(EVEN, azero, azeros, 2) }
  { KEEP($ODD) ; AMP(ODD, azero, azeros, 3) }
  { KEEP($EVEN) ; AMP(EVEN, azero, azeros, 4) }
  { KEEP($ODD) ; AMP(ODD, azero, azeros, 5) }
  { KEEP($EVEN) ; AMP(EVEN, azero, azeros, 6) }
  { KEEP($ODD) ; AMP(ODD, azero, azeros, 7) }
  KEEP($EVEN)
  KEEP($ODD)
.L\name\()_done:
  exitz   $mzero

.L\name\()_few:
  brz     $ROWS, .L\name\()_done
  LAUNCH_ADDRESSES \partials
  add     $FURTHER, $ROWS, -1
.L\name\()_lone:
  ld64step $PARTIAL, $mzero, $P+=, 1
  .irp phase, 0, 1, 2, 3, 4, 5
  { ld64step $PARTIAL, $mzero, $P+=, 1 ; f32sisov2amp $EVEN, $azero, $PARTIAL, .Lphase_\phase }
  .endr
  { ld64step $PARTIAL, $mzero, $P+=, \next ; AMP(EVEN, azero, PARTIAL, 6) }
  { ld64step $X, $mzero, $A+=, 1 ; AMP(EVEN, azero, PARTIAL, 7) }
  LONE_ROW
  brnzdec $FURTHER, .L\name\()_lone
  exitz   $mzero
  .size \name, . - \name
.endm

  GEMM_F32_WITH_PARTIALS gemm_f32_accumulate, c, LATER_ROW(C_ATOMS), 0b0010
  GEMM_F32_WITH_PARTIALS gemm_f32_bias, bias, BACK_IN_C, 0b0011

  GEMM_SUPERVISOR gemm_f32, C_ATOMS, SINGLE_STRIDES
