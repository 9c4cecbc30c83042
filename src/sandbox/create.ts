/** The kinds of sandbox. docs/sandbox.md. */
import { createBwrapSandbox } from './bwrap-sandbox.ts'
import { createPlainSandbox } from './plain-sandbox.ts'
import type { RunAs } from './run-as.ts'
import type { Sandbox } from './sandbox.ts'

/** `sandboxed`: kept in by the kernel. `trusted`: not kept in. */
export type SandboxKind = 'sandboxed' | 'trusted'

/** Creates a sandbox of a kind, whose directory lies below `parent`. `runAs` is of the first kind. Throws for it as root without `runAs`. */
export function createSandbox(kind: SandboxKind, parent: string, runAs: RunAs): Sandbox {
  return kind === 'trusted' ? createPlainSandbox(parent) : createBwrapSandbox(parent, runAs)
}
