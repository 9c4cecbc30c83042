/** Commands about runners, which are requests of the operator API. cli/command/operator.ts has them. */
import type { Argument, Command } from '../../command-line/command.ts'

const runnerId: Argument = { name: 'runner', description: 'id of a runner' }

export const runnerRows: readonly Omit<Command, 'load'>[] = [
  {
    name: 'runner list',
    summary: 'List the runners: what each builds, and when it last asked for a build',
    example: 'berth runner list',
  },
  {
    name: 'runner drain',
    summary: 'Give a runner no further build; those that it runs go on',
    arguments: [runnerId],
    details: 'End its process once `berth runner list` says that it builds nothing.',
    example: 'berth runner drain 4fYQ0dLk2mVt8aBc',
  },
  {
    name: 'runner resume',
    summary: 'Give a drained runner builds again',
    arguments: [runnerId],
    example: 'berth runner resume 4fYQ0dLk2mVt8aBc',
  },
  {
    name: 'runner rm',
    summary: 'Remove a runner: its builds go back to the queue, and it gets no others',
    arguments: [runnerId],
    details: 'Its process, started again, is another runner. To keep a machine out, change BERTH_RUNNER_TOKEN.',
    example: 'berth runner rm 4fYQ0dLk2mVt8aBc',
  },
]
