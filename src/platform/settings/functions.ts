/** Settings of functions. docs/functions.md. */
import { SANDBOX_NETWORK, type SandboxNetwork } from './sandbox/network.ts'
import { EnumSetting, IntegerSetting, type Setting, type ValuesOf } from './types.ts'

export const FUNCTIONS = {
  BERTH_FUNCTIONS: {
    group: 'Functions',
    type: EnumSetting('sandboxed', 'trusted', 'off'),
    whenUnset: '`sandboxed` on a laptop where a sandbox starts, else `off`',
    description:
      'How functions of deployments run: each in a sandbox, as plain processes (`trusted`), or not at all. Set the same on control plane and sites servers: [functions.md](functions.md).',
  },
  BERTH_FUNCTION_NETWORK: {
    group: 'Functions',
    type: SANDBOX_NETWORK,
    default: 'internet',
    description:
      'What a sandboxed function reaches: public addresses, nothing, or public addresses and these private ones, such as that of a database: [sandbox.md](sandbox.md#network).',
  },
  BERTH_FUNCTION_PROCESSES: {
    group: 'Functions',
    type: IntegerSetting(1, 100_000),
    whenUnset: 'one for each 64 MiB of free memory at the start',
    description:
      'Function processes that one `berth sites` runs at once, at most half of them of one account: [functions.md](functions.md#processes).',
  },
} as const satisfies Record<string, Setting>

/** `mode` undefined: BERTH_FUNCTIONS is not set, which is off but on a laptop. */
export type FunctionsSettings = {
  mode: 'sandboxed' | 'trusted' | 'off' | undefined
  network: SandboxNetwork
  processes: number | undefined
}

/** Returns the settings of functions. */
export function functionsOf(values: ValuesOf<typeof FUNCTIONS>): FunctionsSettings {
  const { BERTH_FUNCTIONS: mode, BERTH_FUNCTION_NETWORK: network, BERTH_FUNCTION_PROCESSES: processes } = values
  return { mode, network, processes }
}

/** Returns whether pictures are made: anyone can choose one, so only in a sandbox. docs/pictures.md. */
export function makesPictures({ mode }: Pick<FunctionsSettings, 'mode'>): boolean {
  return mode === 'sandboxed'
}

/** Returns whether functions of deployments run. */
export function runsFunctions({ mode }: Pick<FunctionsSettings, 'mode'>): boolean {
  return mode === 'sandboxed' || mode === 'trusted'
}
