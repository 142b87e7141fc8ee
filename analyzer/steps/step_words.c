/* SPDX-License-Identifier: BSD-2-Clause */
#include "step_words.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define WORD_BYTES 48

/* Letters alone, small. More of a beginning than these a name may have: "ProfilerStep#12", "train step 7", "[pl][profile]run_training_batch". */
static const char *const step_words[] = { "step",          "profilerstep", "trainstep",      "trainingstep",
					  "iteration",     "iter",         "trainiteration", "trainiter",
					  "trainingbatch", "trainbatch",   "globalstep" };
/* What a loader calls its own work too: an iteration's name in a thread that submits. */
static const char *const batch_words[] = { "batch", "minibatch" };
static const char *const outer_words[] = { "epoch",      "trainepoch", "trainingepoch", "training", "train",
					   "validation", "evaluation", "eval",          "main" };
static const char *const step_endings[] = { "runtrainingbatch" };

/* Libraries say what they do themselves: none of it is the program's loop. */
static const char *const library_domains[] = { "NCCL",  "cuDNN", "cuBLAS", "cuBLASLt", "cuSPARSE", "cuSOLVER",
					       "cuFFT", "CCCL",  "CUB",    "Thrust",   "DALI",     "cuRAND" };

/* "Train Step 7" -> "trainstep"; "" where that is long. */
static size_t letters(char word[WORD_BYTES], const char *name)
{
	size_t n = 0;

	for (; *name; name++) {
		if (!isalpha((unsigned char)*name))
			continue;
		if (n + 1 == WORD_BYTES)
			return *word = 0;
		word[n++] = (char)tolower((unsigned char)*name);
	}
	word[n] = 0;
	return n;
}

static bool is_among(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

bool name_is_step(const char *name, bool submits)
{
	char word[WORD_BYTES];
	size_t n = letters(word, name);

	if (is_among(word, step_words, sizeof(step_words) / sizeof(step_words[0])) ||
	    (submits && is_among(word, batch_words, sizeof(batch_words) / sizeof(batch_words[0]))))
		return true;
	for (size_t i = 0; i < sizeof(step_endings) / sizeof(step_endings[0]); i++) {
		size_t length = strlen(step_endings[i]);

		if (n >= length && strcmp(word + n - length, step_endings[i]) == 0)
			return true;
	}
	return false;
}

bool name_is_outer(const char *name)
{
	char word[WORD_BYTES];

	letters(word, name);
	return is_among(word, outer_words, sizeof(outer_words) / sizeof(outer_words[0]));
}

bool domain_is_library(const char *domain)
{
	for (size_t i = 0; domain && i < sizeof(library_domains) / sizeof(library_domains[0]); i++)
		if (strcasecmp(domain, library_domains[i]) == 0)
			return true;
	return false;
}

/* What changes parameters comes once in a step. ("lamb" alone would be every lambda, "optim" every kernel that is optimized.) */
static const char *const optimizer_words[] = { "adam",    "sgd",       "optimizer", "optimiser",
					       "optim_",  "optim::",   "fusedlamb", "multi_tensor_apply",
					       "adagrad", "adafactor", "adadelta",  "rmsprop" };

bool name_is_optimizer(const char *kernel)
{
	for (size_t i = 0; i < sizeof(optimizer_words) / sizeof(optimizer_words[0]); i++)
		if (strcasestr(kernel, optimizer_words[i]))
			return true;
	return false;
}
