/** TABLE commands that run a process of Berth, and the check whether one is ready. */
import type { Command } from '../../command-line/command.ts'

export const serveCommands: readonly Command[] = [
  {
    name: 'serve',
    summary: 'Run the service (the default without a command)',
    example: 'PORT=8080 berth serve',
    load: async () => (await import('./serve.ts')).serveCommand,
  },
  {
    name: 'ready',
    summary: 'Check whether the service of this machine is ready, for health checks that run a program',
    details: 'Requests /readyz at HOST and PORT. Exits with 1 when not ready, or without a response in 5 s.',
    example: 'berth ready',
    load: async () => (await import('./serve.ts')).readyCommand,
  },
  {
    name: 'sites',
    summary: 'Run the sites server, which serves deployments with files to visitors',
    details:
      'It has no database: it syncs with the control plane at BERTH_SITES_CONTROL_PLANE, and keeps serving while that is unavailable. BERTH_SITES_TOKEN must be the same on both.',
    example: 'BERTH_SITES_TOKEN=… BERTH_SITES_PORT=3002 berth sites',
    load: async () => (await import('./serve.ts')).sitesCommand,
  },
  {
    name: 'runner',
    summary: 'Run a runner, which builds deployments from source in sandboxes',
    details:
      'It has no database: it requests builds from the control plane at BERTH_RUNNER_URL, with BERTH_RUNNER_TOKEN as there. A first signal lets running builds end, a second one ends them.',
    example: 'BERTH_RUNNER_TOKEN=… BERTH_RUNNER_URL=http://10.0.0.1:3001 berth runner',
    load: async () => (await import('./serve.ts')).runnerCommand,
  },
]
