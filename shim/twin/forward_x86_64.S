/* SPDX-License-Identifier: BSD-2-Clause */
/* forward_x86_64.S: see forward.c. No driver call takes more than the registers saved here, and the stack, which is not touched. */
#ifdef __CET__
#include <cet.h> /* as in arch/dlsym_x86_64.S: one file without it takes the mark from the whole library */
#endif
	.set	number, 0

	.macro	PASS_ON name
	.text
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	endbr64
	jmp	*place_\name(%rip)
	.size	\name, . - \name
first_\name:
	endbr64
	pushq	$number
	jmp	find
	.data
place_\name:
	.quad	first_\name
	.set	number, number + 1
	.endm

	.data
	.p2align 3
	.globl	gpushim_forward_places
	.hidden	gpushim_forward_places
gpushim_forward_places:

	.text
	.type	find, @function
	.p2align 4
find:
	.cfi_startproc
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	pushq	%rax
	.cfi_adjust_cfa_offset 56
	subq	$136, %rsp
	.cfi_adjust_cfa_offset 136
	movdqu	%xmm0, (%rsp)
	movdqu	%xmm1, 16(%rsp)
	movdqu	%xmm2, 32(%rsp)
	movdqu	%xmm3, 48(%rsp)
	movdqu	%xmm4, 64(%rsp)
	movdqu	%xmm5, 80(%rsp)
	movdqu	%xmm6, 96(%rsp)
	movdqu	%xmm7, 112(%rsp)
	movl	192(%rsp), %edi		/* the number */
	call	gpushim_forward_find
	movq	%rax, %r11
	movdqu	(%rsp), %xmm0
	movdqu	16(%rsp), %xmm1
	movdqu	32(%rsp), %xmm2
	movdqu	48(%rsp), %xmm3
	movdqu	64(%rsp), %xmm4
	movdqu	80(%rsp), %xmm5
	movdqu	96(%rsp), %xmm6
	movdqu	112(%rsp), %xmm7
	addq	$136, %rsp
	.cfi_adjust_cfa_offset -136
	popq	%rax
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -64
	jmp	*%r11
	.cfi_endproc
	.size	find, . - find

#define PASS(name, reason) PASS_ON name
#include "not_hooked.def"

	.section .note.GNU-stack, "", @progbits
