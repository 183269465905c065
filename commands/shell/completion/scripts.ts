import { type CompletionPlace, ROLES } from "./tree.ts";

const PROGRAMS = ["sealift", ...Object.keys(ROLES)];

/** Returns a text in single quotes, as bash and zsh read it. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
/** Returns a text in single quotes, as fish reads it. */
const fishQuoted = (text: string): string => `'${text.replace(/['\\]/g, "\\$&")}'`;

/** Returns one branch of a `case` for each place with something to say. */
function branches(places: readonly CompletionPlace[], say: (place: CompletionPlace) => string): string {
  const lines = places.flatMap((place) => {
    const text = say(place);
    return text === "" ? [] : [`    ${quoted(place.path)}) ${text} ;;`];
  });
  return lines.join("\n");
}

const roles = Object.entries(ROLES)
  .map(([program, path]) => `    ${program}) path=${path} ;;`)
  .join("\n");

/** Returns lines `path:option` → its values. */
const valueBranches = (places: readonly CompletionPlace[], list: (values: readonly string[]) => string): string =>
  places
    .flatMap(({ path, options }) =>
      options
        .filter(({ values }) => values.length > 0)
        .map(({ name, values }) => `    ${quoted(`${path}:${name}`)}) ${list(values)} ;;`),
    )
    .join("\n");

/** Script for bash, from the 3.2 of macOS on, without the bash-completion package. */
const bash = (
  places: readonly CompletionPlace[],
): string => `# bash completion for Sealift: source <(sealift completion bash)
__sealift_words() {
  case "$1" in
${branches(places, ({ words }) => (words.length === 0 ? "" : `echo ${quoted(words.map(({ word }) => word).join(" "))}`))}
  esac
}

__sealift_options() {
  case "$1" in
${branches(places, ({ options }) => (options.length === 0 ? "" : `echo ${quoted(options.map(({ name }) => name).join(" "))}`))}
  esac
}

__sealift_values() {
  case "$1:$2" in
${valueBranches(places, (values) => `echo ${quoted(values.join(" "))}`)}
  esac
}

__sealift_spec() {
  case "$1" in
${branches(places, ({ spec }) => (spec === "" ? "" : `echo ${quoted(spec)}`))}
  esac
}

# Words that this host or a hub knows, for the word at the cursor. bash takes words apart at : and =.
__sealift_ask() {
  local spec joined=() word glue="" found
  spec=$(__sealift_spec "$1")
  [ -n "$spec" ] || return 0
  for word in "\${@:2}"; do
    case "$glue$word" in
      :* | =* | +*) joined[\${#joined[@]} - 1]="\${joined[\${#joined[@]} - 1]}$word" ;;
      *) joined+=("$word") ;;
    esac
    case "$word" in : | =) glue="+" ;; *) glue="" ;; esac
  done
  word="\${joined[\${#joined[@]} - 1]}"
  word="\${word#--*=}"
  while IFS= read -r found; do
    COMPREPLY+=("\${found#"\${word%"\${word##*:}"}"}")
  done < <(command sealift __complete "$spec" "\${joined[@]}" 2>/dev/null)
}

_sealift() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD - 1]}" path="" word i
  case "\${COMP_WORDS[0]##*/}" in
${roles}
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    case " $(__sealift_words "$path") " in
      *" $word "*) path="\${path:+$path }$word" ;;
      *) break ;;
    esac
  done
  local first=$i
  # bash takes --name=value apart.
  if [ "$current" = "=" ]; then current=""; elif [ "$previous" = "=" ]; then previous="\${COMP_WORDS[COMP_CWORD - 2]}"; fi
  COMPREPLY=()
  # The words from here on are the command's own.
  set -- "$path" "\${COMP_WORDS[@]:first:COMP_CWORD - first + 1}"
  case "$previous $current" in
    ": "* | *" :") __sealift_ask "$@" ;;
    *" -"*) COMPREPLY=($(compgen -W "$(__sealift_options "$path")" -- "$current")) ;;
    --*)
      COMPREPLY=($(compgen -W "$(__sealift_values "$path" "$previous")" -- "$current"))
      [ \${#COMPREPLY[@]} -gt 0 ] || __sealift_ask "$@"
      ;;
    *)
      COMPREPLY=($(compgen -W "$(__sealift_words "$path")" -- "$current"))
      __sealift_ask "$@"
      ;;
  esac
}

# Anything else is a file.
complete -o default -F _sealift ${PROGRAMS.join(" ")}
`;

/** Formats `name:description` for `_describe`. */
const described = (name: string, description: string): string =>
  quoted(`${name.replaceAll(":", "\\:")}:${description.replaceAll(":", "\\:")}`);

const zsh = (places: readonly CompletionPlace[]): string => `#compdef ${PROGRAMS.join(" ")}
# zsh completion for Sealift: source <(sealift completion zsh), or a file _sealift on $fpath

_sealift() {
  local path_="" i word current="\${words[CURRENT]}" previous="\${words[CURRENT - 1]}"
  local -a found names values
  case "\${words[1]:t}" in
${roles.replaceAll("path=", "path_=")}
  esac
  __sealift_words() {
    found=()
    case "$1" in
${branches(places, ({ words }) => (words.length === 0 ? "" : `found=(${words.map(({ word, description }) => described(word, description)).join(" ")})`))}
    esac
  }
  for ((i = 2; i < CURRENT; i++)); do
    __sealift_words "$path_"
    word="\${words[i]}"
    names=(\${found%%:*})
    (( \${names[(Ie)$word]} )) || break
    path_="\${path_:+$path_ }$word"
  done
  # Words that this host or a hub knows, for the word at the cursor.
  __sealift_ask() {
    local spec=""
    case "$path_" in
${branches(places, ({ spec }) => (spec === "" ? "" : `spec=${quoted(spec)}`))}
    esac
    [[ -z "$spec" ]] || values=("\${(@f)$(command sealift __complete "$spec" "\${(@)words[i,CURRENT]}" 2>/dev/null)}")
    values=(\${values:#})
  }
  if [[ "$current" == -* ]]; then
    found=()
    case "$path_" in
${branches(places, ({ options }) => (options.length === 0 ? "" : `found=(${options.map(({ name, description }) => described(name, description)).join(" ")})`))}
    esac
    _describe -o option found
    return
  fi
  if [[ "$previous" == --* ]]; then
    values=()
    case "$path_:$previous" in
${valueBranches(places, (values) => `values=(${values.join(" ")})`)}
    esac
    (( \${#values} )) || __sealift_ask
    if (( \${#values} )); then compadd -a values; else _files; fi
    return
  fi
  __sealift_words "$path_"
  values=()
  __sealift_ask
  if (( \${#found} )); then _describe command found; fi
  if (( \${#values} )); then compadd -a values; elif (( ! \${#found} )); then _files; fi
}

compdef _sealift ${PROGRAMS.join(" ")}
`;

function fish(places: readonly CompletionPlace[]): string {
  const lines: string[] = [];
  for (const program of PROGRAMS) {
    const root = ROLES[program] ?? "";
    for (const { path, words, options, spec } of places) {
      if (path !== root && !(root === "" || path.startsWith(`${root} `))) continue;
      const here = `-c ${program} -n ${fishQuoted(`__sealift_at ${fishQuoted(path)}`)}`;
      for (const { word, description } of words)
        lines.push(`complete ${here} -a ${fishQuoted(word)} -d ${fishQuoted(description)}`);
      const ask = fishQuoted(`(__sealift_ask ${fishQuoted(path)} ${fishQuoted(spec)})`);
      if (/^[a-z]|,[a-z]/.test(spec)) lines.push(`complete ${here} -f -a ${ask}`);
      for (const { name, description, takesValue, values } of options) {
        const asked = spec.includes(`${name}=`);
        const list = asked ? ask : fishQuoted(values.join(" "));
        const takes = asked || values.length > 0 ? ` -x -a ${list}` : takesValue ? " -r" : "";
        lines.push(`complete ${here} -l ${name.slice(2)} -d ${fishQuoted(description)}${takes}`);
      }
    }
  }
  const known = places.filter(({ path }) => path !== "").map(({ path }) => fishQuoted(path));
  return `# fish completion for Sealift: sealift completion fish | source
set -g __sealift_paths ${known.join(" ")}

# True when the words before the cursor make this path and no longer one.
function __sealift_at
    set -l words (commandline -opc)
    set -l path
    switch (basename -- $words[1])
${Object.entries(ROLES)
  .map(([program, path]) => `        case ${program}\n            set path ${path}`)
  .join("\n")}
    end
    for word in $words[2..-1]
        set -l longer (string join ' ' -- $path $word)
        contains -- $longer $__sealift_paths; or break
        set path $longer
    end
    test "$path" = "$argv[1]"
end

# Words that this host or a hub knows, for the word at the cursor.
function __sealift_ask
    set -l words (commandline -opc)
    set -l from (math (count (string split -n ' ' -- $argv[1])) + 2)
    switch (basename -- $words[1])
        case ${Object.keys(ROLES).join(" ")}
            set from (math $from - 1)
    end
    set -l given $words[$from..-1] (commandline -ct)
    command sealift __complete $argv[2] $given 2>/dev/null
end

${lines.join("\n")}
`;
}

/** Completion scripts by shell, for all programs. */
export const completionScript = { bash, zsh, fish };
