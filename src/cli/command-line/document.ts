/** docs/command-line.md, made from the table of commands. */
import type { Command } from './command.ts'
import { choice, formatOption, usageOf } from './help.ts'

const INTRODUCTION = `# The command line

This page is made from src/cli/command/commands.ts by \`npm run commands\`.

\`npm start -- <words>\` and \`npx berth <words>\` work in a fresh clone: both install what is missing first. \`npm start\` says itself what it
runs; \`npm start --silent -- <words>\` leaves stdout to the command, and \`npx -- berth --version\` keeps npx from answering instead.

- Settings are environment variables ([settings.md](settings.md)). Commands that speak to the running service find it at \`HOST\` and
  \`PORT\`, else at \`BERTH_PUBLIC_URL\` ([operations.md](operations.md#where-commands-ask)). The operator's show \`BERTH_OPERATOR_TOKEN\`, \`env\` shows \`BERTH_TOKEN\`; without these, what is in \`credentials.json\` of \`BERTH_DATA\`.
- \`--json\`: the answer is JSON on stdout, also when it is an error (\`{"error": {"message", "exitCode"}}\`). Everything else is on stderr.
- Control characters in names, and in what a server says, are printed as \`?\` and escaped in JSON. A \`.env\` text that no terminal reads is exact.
- Long work shows a bar on stderr, on a terminal only.
- Exit codes: 0 done; 1 refused, failed, or something is wrong; 64 the words say nothing (the nearest ones are told); 65 a backup is bad; 78 a bad setting.

## Completion

    npx berth completion bash > ~/.local/share/bash-completion/completions/berth
    npx berth completion zsh  > ~/.zfunc/_berth        # a folder of $fpath
    npx berth completion fish > ~/.config/fish/completions/berth.fish
`

/** The page, whole. */
export function commandLineText(commands: readonly Command[]): string {
  return `${INTRODUCTION}\n## Commands\n${commands.map(sectionOf).join('')}`
}

function sectionOf(command: Command): string {
  const { words, summary, details, example, arguments: takes = [], options = {} } = command
  const rows = [
    ...takes.map(({ name, about, oneOf }) => `- \`<${name}>\`: ${choice(about, oneOf)}`),
    ...Object.entries(options).map(
      ([name, option]) =>
        `- \`${formatOption(name, option)}\`: ${choice(option.about, option.oneOf, option.repeatable)}`,
    ),
  ]
  const list = rows.length === 0 ? '' : `\n${rows.join('\n')}\n`
  const text = details === undefined ? `${summary}.` : `${summary}. ${details}`
  return `\n### berth ${words}\n\n    ${usageOf(command)}\n\n${text}\n${list}\nExample: \`${example}\`\n`
}
