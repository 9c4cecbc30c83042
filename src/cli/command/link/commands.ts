/** TABLE The command that configures the ecosystem's command line. */
import type { Command } from '../../command-line/command.ts'

export const linkCommands: readonly Command[] = [
  {
    name: 'link-cli',
    summary: "Point the ecosystem's command line here: write its folder, and print the line for your shell",
    options: {
      team: { value: 'id or slug', description: 'the team that it acts for; without it, as the token says' },
      token: {
        value: 'token',
        description: 'what it shows to Berth; others see it in the list of processes: BERTH_TOKEN does the same',
      },
      'global-config': {
        value: 'folder',
        description: 'its folder, which vercel takes as -Q; without it cli/ of the data folder',
        isFile: true,
      },
    },
    details:
      'The service must run. Without the token, it is BERTH_TOKEN, or the first one, of credentials.json in the data folder. The token is kept in the folder (mode 0600) and never printed.',
    example: 'berth link-cli --team acme',
    load: async () => (await import('./link-cli.ts')).linkCliCommand,
  },
]
