/** What the steps of one build share. docs/runner.md: Steps. */
import type { Logger } from 'pino'
import type { Beat, Lease } from '../../delivery/protocol/runner-protocol.ts'
import type { Network } from '../../sandbox/policy.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import type { BuildCache } from '../cache/build-cache.ts'
import type { LeaseChannel } from '../lease/control-plane.ts'
import type { LogBuffer } from '../log/log-buffer.ts'
import type { ProcessTable } from '../resources/processes.ts'
import type { BuildLimits } from '../resources/watch.ts'
import type { Toolchain } from '../toolchain/toolchain.ts'
import type { NodeMajor, Unit } from '../toolchain/units.ts'
import type { Output } from './output.ts'
import type { Workspace } from './workspace.ts'

/** What all builds of a runner share. */
export type BuildTools = {
  createSandbox(): Sandbox
  toolchain: Toolchain
  network: Network
  /** Variables of the operator that a build needs: proxies, and a file of certificates. */
  passed: Readonly<Record<string, string>>
  /** The file of certificates to trust in addition to those of Node.js, on the host. */
  certificates: string | undefined
  builder: string
  limits: BuildLimits
  cache: BuildCache
  processes: ProcessTable
  log: Logger
}

/** The later fields are set by the steps. */
export type Build = {
  lease: Lease
  channel: LeaseChannel
  tools: BuildTools
  sandbox: Sandbox
  log: LogBuffer
  /** The step that beats report. */
  reported: Beat['step']
  /** Aborted when that changes, and replaced by another one. */
  stepChange: AbortController
  insideWork: string
  workspace: Workspace | undefined
  node: NodeMajor
  /** Installed units → directories on the host. */
  units: Map<Unit, string>
  managers: readonly Unit[]
  output: Output | undefined
  /** The command of the ignored build step. */
  ignoredStep: string | undefined
  /** The ignored build step asked not to build. */
  isIgnored: boolean
}
