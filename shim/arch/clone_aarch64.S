/* SPDX-License-Identifier: BSD-2-Clause */
/* See clone_x86_64.S. */
	.text
	.globl	gpushim_clone
	.hidden	gpushim_clone
	.type	gpushim_clone, %function
	.p2align 4
gpushim_clone:
	.cfi_startproc
	hint	#34			/* bti c */
	stp	x2, x3, [x1, #-16]!
	mov	x2, #0			/* no thread ids to be written, no thread-local storage of its own */
	mov	x3, #0
	mov	x4, #0
	mov	x8, #220		/* clone */
	svc	#0
	cbz	x0, 1f
	ret
1:	.cfi_undefined x30		/* the stack of the new thread ends here */
	mov	x29, #0
	ldp	x1, x0, [sp], #16
	blr	x1
	mov	x0, #0
	mov	x8, #93			/* exit, of this thread alone */
	svc	#0
	brk	#1
	.cfi_endproc
	.size	gpushim_clone, .-gpushim_clone
	.section .note.GNU-stack, "", %progbits
