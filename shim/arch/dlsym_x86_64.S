/* SPDX-License-Identifier: BSD-2-Clause */
/* dlsym(handle, name): asks gpushim_dlsym_hook; if that has no final answer, jumps to the real dlsym with the caller's own
 * return address still on the stack. A call instead of the jump would make RTLD_NEXT mean *our* next. */
#ifdef __CET__
#include <cet.h> /* endbr64 and a shadow stack that matches: says so, as the compiler does of its own functions */
#endif
	.text
	.globl	dlsym
	.type	dlsym, @function
	.p2align 4
dlsym:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	movq	16(%rsp), %rdx		/* the caller */
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	gpushim_dlsym_hook	/* struct of two words: rax = result, rdx = final */
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rdx, %rdx
	jz	1f
	ret
1:	jmp	*gpushim_real_dlsym(%rip)
	.cfi_endproc
	.size	dlsym, .-dlsym
	.section .note.GNU-stack, "", @progbits
