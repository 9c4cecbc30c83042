/** Shell completion scripts, generated from the table. They are self-contained, so a Tab starts no program. */
import { type Argument, type Command, GLOBAL_OPTIONS, type Option, type RunCommand } from './command.ts'
import { nextTokens } from './parse.ts'

/** The words, options and values that can follow some words; `files` where a path is expected. */
type Position = { words: string; next: { word: string; description: string }[]; files: boolean }

/** Returns the completion command. `commands` is a parameter, because the table of commands includes this one. */
export function completionOf(commands: readonly Command[]): RunCommand {
  return async ({ value }) => {
    const shell = value('shell') as keyof typeof SCRIPTS
    const text = SCRIPTS[shell](placesOf(commands))
    return { data: { shell, script: text }, text }
  }
}

/** Every prefix of words with a continuation. */
function placesOf(commands: readonly Command[]): Position[] {
  const groups = new Set<string>([''])
  for (const { name } of commands) {
    const parts = name.split(' ')
    for (let size = 1; size < parts.length; size++) groups.add(parts.slice(0, size).join(' '))
  }
  const inner = [...groups].map((words): Position => {
    const parts = words === '' ? [] : words.split(' ')
    const next = nextTokens(commands, parts).map((word) => ({
      word,
      description: aboutWord(commands, [...parts, word]),
    }))
    return { words, next, files: false }
  })
  // A word may be a command and also a prefix, such as backup.
  const byWords = Map.groupBy([...inner, ...commands.map(placeOf)], ({ words }) => words)
  return [...byWords].map(([words, places]) => ({
    words,
    next: places.flatMap(({ next }) => next),
    files: places.some(({ files }) => files),
  }))
}

/** The summary of a command, or the continuations of a prefix. */
function aboutWord(commands: readonly Command[], parts: string[]): string {
  const command = commands.find(({ name }) => name === parts.join(' '))
  return command?.summary ?? nextTokens(commands, parts).join(', ')
}

function placeOf({ name, arguments: takes = [], options = {} }: Command): Position {
  const all: (Argument | Option)[] = [...takes, ...Object.values(options)]
  const flags = Object.entries({ ...options, ...GLOBAL_OPTIONS }).map(([name, { description }]) => ({
    word: `--${name}`,
    description,
  }))
  const offered = (argument: Argument | Option) =>
    ('suggestions' in argument ? argument.suggestions : argument.oneOf) ?? []
  const values = all.flatMap((part) => offered(part).map((word) => ({ word, description: part.description })))
  return { words: name, next: [...values, ...flags], files: all.some(({ isFile }) => isFile === true) }
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

function bashScript(places: Position[]): string {
  const cases = places.map(({ words, next, files }) => {
    const list = next.map(({ word }) => word).join(' ')
    return `    ${quoted(words)}) words=${quoted(list)}; files=${files ? 'yes' : ''} ;;`
  })
  return `# berth: completion for bash
_berth() {
  local at=\${COMP_WORDS[COMP_CWORD]} path= word words= files=
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) continue ;; esac
    case "\${path:+$path }$word" in
      ${placePattern(places)}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$at"))
  if [ -n "$files" ]; then COMPREPLY+=($(compgen -f -- "$at")); fi
}
complete -o filenames -F _berth berth
`
}

function zshScript(places: Position[]): string {
  const cases = places.map(({ words, next, files }) => {
    const described = next
      .map(({ word, description }) => quoted(`${word.replaceAll(':', '\\:')}:${description}`))
      .join(' ')
    return `    ${quoted(words)}) found=(${described}); files=${files ? 'yes' : ''} ;;`
  })
  return `#compdef berth
# berth: completion for zsh
_berth() {
  local trail= word files=
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && continue
    case "\${trail:+$trail }$word" in
      ${placePattern(places)}) trail="\${trail:+$trail }$word" ;;
    esac
  done
  case "$trail" in
${cases.join('\n')}
  esac
  _describe berth found
  if [[ -n $files ]]; then _files; fi
}
if [ "$funcstack[1]" = "_berth" ]; then _berth "$@"; else compdef _berth berth; fi
`
}

function fishScript(places: Position[]): string {
  const lines = places.flatMap(({ words, next, files }) => {
    const here = `-c berth -n ${quoted(`test (__berth_place) = ${quoted(words)}`.replaceAll("'", '"'))}`
    const plain = next.map(({ word, description }) =>
      word.startsWith('--')
        ? `complete ${here} -l ${word.slice(2)} -d ${quoted(description)}`
        : `complete ${here} -a ${quoted(word)} -d ${quoted(description)}`,
    )
    return files ? [`complete ${here} -F`, ...plain] : plain
  })
  return `# berth: completion for fish
function __berth_place
  set -l place ''
  for word in (commandline -opc)[2..]
    string match -q -- '-*' $word; and continue
    set -l longer (string trim -- "$place $word")
    if contains -- $longer ${places.map(({ words }) => quoted(words)).join(' ')}
      set place $longer
    end
  end
  echo "$place"
end
complete -c berth -f
${lines.join('\n')}
`
}

function placePattern(places: Position[]): string {
  return places
    .filter(({ words }) => words !== '')
    .map(({ words }) => quoted(words))
    .join(' | ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
