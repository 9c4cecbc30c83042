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
  /** Resolves once no other sandbox starts, because the space was closed or its network ended, which ends its sandboxes. */
  ended: Promise<void>
  /** Destroys its sandboxes, and ends its network also where that fails. May be called more than once. */
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
  if (kind === 'trusted') return createSpace(() => createPlainSandbox(parent))
  if (network === 'none') return createSpace(() => createBwrapSandbox(parent, runAs, layers))
  const { rulesOf } = layers
  const namespace = await holdNamespace({ parent, runAs, network, ...(rulesOf && { rulesOf }) })
  return createSpace(() => createBwrapSandbox(parent, runAs, { ...layers, namespace }), namespace)
}

/** Creates a space of sandboxes that `create` makes. It ends with its namespace, where it has one. */
export function createSpace(create: () => Sandbox, namespace?: Pick<HeldNamespace, 'lost' | 'close'>): SandboxSpace {
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
    ended: namespace?.lost ?? closed.promise,
    async close() {
      isClosed = true
      try {
        await Promise.all([...sandboxes].map((sandbox) => sandbox.destroy()))
      } finally {
        await namespace?.close()
        closed.resolve()
      }
    },
  }
}
