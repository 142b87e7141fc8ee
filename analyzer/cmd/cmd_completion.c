/* SPDX-License-Identifier: BSD-2-Clause */
/* cmd_completion.c: bash's and zsh's completion, made of the option rows. */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#define TRACES "gst gpk json json.gz sqlite" /* what every command reads; it is told apart by what it holds */

struct completion_opts {
	bool none; /* there are no options */
};

const struct option_set cmd_completion_options = {
	.usage = "bash|zsh\n\nPrints the shell's completion for gpushim: eval \"$(gpushim completion bash)\".",
	.min_paths = 1,
	.max_paths = 1,
	.missing = "no shell is named: bash or zsh",
};

/* What may follow an option. */
enum follows { NOTHING, ANYTHING, FILES, FOLDERS, WORDS };

static enum follows follows(const struct option_row *row)
{
	if (row->type == OPT_FLAG || row->type == OPT_MAYBE) /* the latter's stands behind a '=' */
		return NOTHING;
	if (row->type == OPT_WORD || row->type == OPT_RUN)
		return WORDS;
	if (row->type == OPT_TEXT && strcmp(row->value, "FILE") == 0)
		return FILES;
	if (row->type == OPT_TEXT && strcmp(row->value, "DIR") == 0)
		return FOLDERS;
	return ANYTHING;
}

/* "auto|off" → "auto off". */
static void words(FILE *out, const struct option_row *row)
{
	const char *list = row->type == OPT_RUN ? "all|last" : row->value;

	for (; *list; list++)
		fputc(*list == '|' ? ' ' : *list, out);
}

/* ---- bash --------------------------------------------------------------------------------------------- */

static void bash_names(FILE *out, const struct option_set *set)
{
	for (size_t i = 0; i < set->n_rows; i++)
		fprintf(out, "--%s ", set->rows[i].name);
	fputs("--help", out);
}

/* "report,--html | report,-H", or, for those with one of these values, of every option */
static void bash_pattern(FILE *out, const struct command *c, const struct option_row *row)
{
	fprintf(out, "\t%s,--%s", c->name, row->name);
	if (row->letter)
		fprintf(out, " | %s,-%c", c->name, row->letter);
	fputs(") ", out);
}

static void bash_values(FILE *out, const struct command *c)
{
	for (size_t i = 0; i < c->options->n_rows; i++) {
		const struct option_row *row = &c->options->rows[i];

		switch (follows(row)) {
		case NOTHING:
			continue;
		case ANYTHING:
			bash_pattern(out, c, row);
			fputs("return ;;\n", out);
			continue;
		case FILES:
			bash_pattern(out, c, row);
			fputs("_gpushim_files; return ;;\n", out);
			continue;
		case FOLDERS:
			bash_pattern(out, c, row);
			fputs("_gpushim_folders; return ;;\n", out);
			continue;
		case WORDS:
			bash_pattern(out, c, row);
			fputs("_gpushim_words '", out);
			words(out, row);
			fputs("'; return ;;\n", out);
		}
	}
}

/* What of a shell's completion no row says. */
static const char bash_head[] =
	"# bash completion of gpushim, made by `gpushim completion bash` -*- shell-script -*-\n"
	"_gpushim_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
	"_gpushim_files() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
	"}\n"
	"_gpushim_folders() {\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\")\n"
	"}\n"
	"# Run directories, and files that end so.\n"
	"_gpushim_paths() {\n"
	"\tlocal end\n"
	"\tcompopt -o filenames 2>/dev/null\n"
	"\tmapfile -t COMPREPLY < <(compgen -d -- \"$cur\"\n"
	"\t\tfor end in \"$@\"; do compgen -f -X \"!*.$end\" -- \"$cur\"; done)\n"
	"}\n"
	"# The program of `gpushim run`: the place of its first word, after -- or after the options.\n"
	"_gpushim_program() {\n"
	"\tlocal i\n"
	"\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t--) echo $((i + 1)); return ;;\n";

static const char bash_middle[] =
	"\t\t-* | =) ;;\n"
	"\t\t*) echo \"$i\"; return ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"}\n"
	"_gpushim() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} program\n"
	"\tCOMPREPLY=()\n"
	"\tif [ \"$COMP_CWORD\" = 1 ]; then\n";

static const char bash_values_head[] = "\t\treturn\n"
				       "\tfi\n"
				       "\tif [ \"$command\" = run ]; then\n"
				       "\t\tprogram=$(_gpushim_program)\n"
				       "\t\tif [ -n \"$program\" ] && [ \"$program\" -le \"$COMP_CWORD\" ]; then\n"
				       "\t\t\tif [ \"$program\" = \"$COMP_CWORD\" ]; then\n"
				       "\t\t\t\tcompopt -o filenames 2>/dev/null\n"
				       "\t\t\t\tmapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n"
				       "\t\t\telif declare -F _command_offset >/dev/null; then\n"
				       "\t\t\t\t_command_offset \"$program\"\n"
				       "\t\t\telse\n"
				       "\t\t\t\t_gpushim_files\n"
				       "\t\t\tfi\n"
				       "\t\t\treturn\n"
				       "\t\tfi\n"
				       "\tfi\n"
				       "\t# --name=value is three words\n"
				       "\tif [ \"$cur\" = = ]; then\n"
				       "\t\tcur=\n"
				       "\telif [ \"$prev\" = = ]; then\n"
				       "\t\tprev=${COMP_WORDS[COMP_CWORD - 2]}\n"
				       "\tfi\n"
				       "\tcase $command,$prev in\n";

static void bash(FILE *out)
{
	const struct command *run = command_find("run");

	fputs(bash_head, out);
	for (size_t i = 0; i < run->options->n_rows; i++) {
		const struct option_row *row = &run->options->rows[i];

		if (follows(row) != NOTHING)
			fprintf(out, "\t\t--%s) [ \"${COMP_WORDS[i + 1]}\" = = ] && i=$((i + 1)); i=$((i + 1)) ;;\n",
				row->name);
		if (follows(row) != NOTHING && row->letter)
			fprintf(out, "\t\t-%c) i=$((i + 1)) ;;\n", row->letter);
	}
	fputs(bash_middle, out);
	fputs("\t\t_gpushim_words '", out);
	for (size_t i = 0; i < n_commands; i++)
		if (!commands[i].hidden)
			fprintf(out, "%s ", commands[i].name);
	fputs("help --help --version'\n", out);
	fputs(bash_values_head, out);
	for (size_t i = 0; i < n_commands; i++)
		bash_values(out, &commands[i]);
	fputs("\tesac\n\tcase $command,$cur in\n", out);
	for (size_t i = 0; i < n_commands; i++) {
		fprintf(out, "\t%s,-*) _gpushim_words '", commands[i].name);
		bash_names(out, commands[i].options);
		fputs("' ;;\n", out);
	}
	fputs("\thelp,*) _gpushim_words '", out);
	for (size_t i = 0; i < n_commands; i++)
		if (!commands[i].hidden)
			fprintf(out, "%s%s", i ? " " : "", commands[i].name);
	fputs("' ;;\n\trun,*) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -c -- \"$cur\") ;;\n"
	      "\tcompletion,*) _gpushim_words 'bash zsh' ;;\n"
	      "\thost,* | doctor,*) ;;\n",
	      out);
	for (size_t i = 0; i < n_commands; i++)
		if (commands[i].options->files)
			fprintf(out, "\t%s,*) _gpushim_paths %s ;;\n", commands[i].name, commands[i].options->files);
	fputs("\t*) _gpushim_paths " TRACES " ;;\n\tesac\n}\ncomplete -F _gpushim gpushim\n", out);
}

/* ---- zsh ---------------------------------------------------------------------------------------------- */

/* Inside '…[ ]'. */
static void zsh_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", out);
		else if (strchr("[]:\\", *text))
			fprintf(out, "\\%c", *text);
		else
			fputc(*text, out);
	}
}

/* "(-j --json --why)": this one, and those that it excludes. */
static void zsh_excludes(FILE *out, const struct option_set *set, const struct option_row *row)
{
	bool alone = options_exclude(set, row->name);

	fputs("'(", out);
	for (size_t i = 0; i < set->n_rows; i++) {
		const struct option_row *other = &set->rows[i];

		if (other != row && !(alone && options_exclude(set, other->name)))
			continue;
		fprintf(out, "--%s ", other->name);
		if (other->letter)
			fprintf(out, "-%c ", other->letter);
	}
	fputs(")'", out);
}

static void zsh_row(FILE *out, const struct option_set *set, const struct option_row *row)
{
	const char *takes = row->type == OPT_FLAG ? "" : row->type == OPT_MAYBE ? "=-" : "=";

	fputs("\t\t\t", out);
	zsh_excludes(out, set, row);
	if (row->letter)
		fprintf(out, "{-%c%s,--%s%s}", row->letter, row->type == OPT_FLAG ? "" : "+", row->name, takes);
	else
		fprintf(out, "--%s%s", row->name, takes);
	fputs("'[", out);
	zsh_text(out, row->help);
	fputc(']', out);
	if (row->type == OPT_MAYBE)
		fputs("::number: ", out);
	switch (follows(row)) {
	case NOTHING:
		break;
	case ANYTHING:
		fputc(':', out);
		zsh_text(out, row->value);
		fputs(": ", out);
		break;
	case FILES:
		fputs(":file:_files", out);
		break;
	case FOLDERS:
		fputs(":folder:_files -/", out);
		break;
	case WORDS:
		fputs(":value:(", out);
		words(out, row);
		fputc(')', out);
	}
	fputs("' \\\n", out);
}

/* "gst json" as the pattern *.(gst|json) */
static void zsh_files(FILE *out, const char *ends)
{
	fputs(" \\\n\t\t\t'*:run directory or trace:_files -g \"*.(", out);
	for (; *ends; ends++)
		fputc(*ends == ' ' ? '|' : *ends, out);
	fputs(")\"'", out);
}

static void zsh_command(FILE *out, const struct command *c)
{
	fprintf(out, "\t%s)\n\t\t_arguments -s -S \\\n", c->name);
	for (size_t i = 0; i < c->options->n_rows; i++)
		zsh_row(out, c->options, &c->options->rows[i]);
	fputs("\t\t\t'(-)'{-h,--help}'[the options in short]'", out);
	if (c->options->ends)
		fputs(" \\\n\t\t\t'(-)1:program: _command_names -e' '*::arguments: _normal'", out);
	else if (strcmp(c->name, "completion") == 0)
		fputs(" \\\n\t\t\t'1:shell:(bash zsh)'", out);
	else if (c->options->max_paths)
		zsh_files(out, c->options->files ? c->options->files : TRACES);
	fputs("\n\t\t;;\n", out);
}

static void zsh(FILE *out)
{
	fputs("#compdef gpushim\n# zsh completion of gpushim, made by `gpushim completion zsh`\n_gpushim() {\n"
	      "\tlocal -a commands=(\n",
	      out);
	for (size_t i = 0; i < n_commands; i++) {
		if (commands[i].hidden)
			continue;
		fprintf(out, "\t\t'%s:", commands[i].name);
		zsh_text(out, commands[i].what);
		fputs("'\n", out);
	}
	fputs("\t\t'help:what there is, or the page of a command'\n\t)\n"
	      "\tif ((CURRENT == 2)); then\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
	      "\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $command in\n",
	      out);
	for (size_t i = 0; i < n_commands; i++)
		zsh_command(out, &commands[i]);
	fputs("\thelp)\n\t\t_describe command commands\n\t\t;;\n\tesac\n}\n"
	      "if [ \"$funcstack[1]\" = _gpushim ]; then\n\t_gpushim \"$@\"\nelse\n\tcompdef _gpushim gpushim\nfi\n",
	      out);
}

int cmd_completion(int argc, char *argv[])
{
	struct completion_opts o = { false };
	struct error e;
	int first, status = cmd_options(&cmd_completion_options, argc, argv, &o, &first);

	if (status >= 0)
		return status;
	if (strcmp(argv[first], "bash") == 0) {
		bash(stdout);
	} else if (strcmp(argv[first], "zsh") == 0) {
		zsh(stdout);
	} else {
		err_set(&e, ERR_USAGE, NULL, ERR_NO_BYTE, "completion: there is one for bash and one for zsh");
		return cmd_fail(&e, NULL);
	}
	return cmd_finish(stdout, "standard output", 0);
}
