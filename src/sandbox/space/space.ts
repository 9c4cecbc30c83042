/** Sandboxes that share a network namespace. docs/sandbox.md: A namespace for several sandboxes. */
import { createBwrapSandbox, type Layers } from '../bwrap-sandbox.ts'
import type { SandboxKind } from '../create.ts'
import { type HeldNamespace, holdNamespace } from '../network/held-namespace.ts'
import { createPlainSandbox } from '../plain-sandbox.ts'
import type { Network } from '../policy.ts'
import type { RunAs } from '../run-as.ts'
import type { Sandbox } from '../sandbox.ts'

/** Sandboxes with one network namespace. They reach each other on loopback. */
export type SandboxSpace = {
  /** Creates a sandbox whose policy has the network of the space, or none. Throws once the space is closed. */
  createSandbox(): Sandbox
  /** Resolves once the space has ended, for whatever reason: its sandboxes have ended then, and no other starts. */
  ended: Promise<void>
  /** Destroys its sandboxes. May be called more than once. */
  close(): Promise<void>
}

/**
 * Opens a space. Its network is there then, so that a sandbox starts as fast as one without network. Throws with a sentence where the network does not
 * start. The trusted kind and the network `none` have nothing to share.
 */
export async function openSandboxSpace(
  kind: SandboxKind,
  parent: string,
  runAs: RunAs,
  network: Network,
  layers: Layers = {},
): Promise<SandboxSpace> {
  if (kind === 'trusted') return spaceOf(() => createPlainSandbox(parent))
  if (network === 'none') return spaceOf(() => createBwrapSandbox(parent, runAs, layers))
  const { rulesOf } = layers
  const namespace = await holdNamespace({ parent, runAs, network, ...(rulesOf && { rulesOf }) })
  return spaceOf(() => createBwrapSandbox(parent, runAs, { ...layers, namespace }), namespace)
}

function spaceOf(create: () => Sandbox, namespace?: HeldNamespace): SandboxSpace {
  const sandboxes = new Set<Sandbox>()
  const closed = Promise.withResolvers<void>()
  let isClosed = false
  return {
    createSandbox() {
      if (isClosed) throw new Error('the space of the sandbox is closed')
      const sandbox = create()
      sandboxes.add(sandbox)
      const destroy = async () => {
        await sandbox.destroy()
        sandboxes.delete(sandbox)
      }
      return { ...sandbox, destroy }
    },
    ended: namespace?.ended ?? closed.promise,
    async close() {
      isClosed = true
      await Promise.all([...sandboxes].map((sandbox) => sandbox.destroy()))
      await namespace?.close()
      closed.resolve()
    },
  }
}
