/** Types of build settings. docs/building.md. */
import { BadSetting, EnumSetting, IntegerSetting, type Setting, TokenSetting } from './types.ts'

export const BUILDS = {
  BERTH_BUILDS: {
    group: 'Builds',
    kind: EnumSetting('sandboxed', 'trusted', 'off'),
    whenUnset: '`off`',
    description:
      'Whether deployments from source are built here: in a sandbox, as plain processes (`trusted`), or not at all: [building.md](building.md).',
  },
  BERTH_BUILDS_PER_ACCOUNT: {
    group: 'Builds',
    kind: IntegerSetting(1, 1000),
    default: '3',
    description: 'Builds of one account that run at the same time. Others wait: [building.md](building.md#queue).',
  },
  BERTH_RUNNER_TOKEN: {
    group: 'Builds',
    kind: TokenSetting(20),
    whenUnset: 'none: runners are refused',
    description: 'Shared by the control plane and its runners: [building.md](building.md#runner-protocol).',
    secret: true,
  },
} as const satisfies Record<string, Setting>

/** `mode` off: a source is refused. `runnerToken` undefined: no runner gets a lease. */
export type BuildsSettings = {
  mode: 'sandboxed' | 'trusted' | 'off'
  runnerToken: string | undefined
  perAccount: number
}

/** Returns the settings of builds. Throws BadSetting where the token of runners is that of proxies or sites servers. */
export function buildsOf(values: {
  BERTH_BUILDS: BuildsSettings['mode'] | undefined
  BERTH_BUILDS_PER_ACCOUNT: number
  BERTH_RUNNER_TOKEN: string | undefined
  BERTH_EDGE_TOKEN: string | undefined
  BERTH_SITES_TOKEN: string | undefined
}): BuildsSettings {
  const { BERTH_RUNNER_TOKEN: runnerToken, BERTH_BUILDS: mode = 'off', BERTH_BUILDS_PER_ACCOUNT: perAccount } = values
  for (const name of ['BERTH_EDGE_TOKEN', 'BERTH_SITES_TOKEN'] as const)
    if (runnerToken !== undefined && runnerToken === values[name])
      throw new BadSetting(`BERTH_RUNNER_TOKEN must differ from ${name}: it opens the variables of builds`)
  return { mode, runnerToken, perAccount }
}
