/** Variables that come with a create, kept sealed for its build. docs/building.md: Environment. */
import type { Ctx } from '../../context.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox, openSecretBoxToWrite } from '../../platform/secrets/data-keys.ts'
import type { CreateDeployment } from '../deploys/create-schema.ts'

type Texts = Record<string, string>
/** `build`: for the build alone. `env`: for what is deployed alone. `git`: facts of the commit. */
export type CreateEnv = { build: Texts; env: Texts; git: Texts }

const KEY = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/
/** Of all values together. */
const MAX_BYTES = 64 * 1024

/** Returns the variables and commit facts of a create. Refuses: bad_request 400 (a key, a value that is not text, more than 64 KiB). */
export function readCreateEnv({ env, build, gitMetadata }: CreateDeployment): CreateEnv {
  const read = {
    build: textsOf(build?.env, 'build.env'),
    env: textsOf(env, 'env'),
    git: Object.fromEntries(
      Object.entries((gitMetadata ?? {}) as object).filter(([, value]) => typeof value === 'string'),
    ) as Texts,
  }
  if (Buffer.byteLength(JSON.stringify(read)) > 2 * MAX_BYTES)
    refuse('bad_request', 'Invalid request: `env`, `build.env` and `gitMetadata` have more than 128 KiB together.')
  return read
}

function textsOf(sent: unknown, field: string): Texts {
  const entries = Object.entries((sent ?? {}) as object)
  for (const [key, value] of entries) {
    if (!KEY.test(key))
      refuse('bad_request', `Invalid request: \`${field}\` has the key "${key.slice(0, 100)}", which no variable has.`)
    if (typeof value !== 'string') refuse('bad_request', `Invalid request: \`${field}.${key}\` must be a text.`)
  }
  return Object.fromEntries(entries)
}

/** Seals the variables for a deployment, in its transaction. Null: no variables. */
export async function sealCreateEnv(
  ctx: Pick<Ctx, 'db' | 'deps'>,
  projectId: string,
  deploymentId: string,
  env: CreateEnv,
): Promise<string | null> {
  if (Object.values(env).every((texts) => Object.keys(texts).length === 0)) return null
  const box = await openSecretBoxToWrite(ctx, projectId)
  return box.sealSecret('deployment-env', deploymentId, JSON.stringify(env))
}

/** Opens the variables of a deployment. Undefined where they do not open; the log has the reason. */
export async function openCreateEnv(
  ctx: Pick<Ctx, 'db' | 'deps'>,
  projectId: string,
  deploymentId: string,
  sealed: string | null,
): Promise<CreateEnv | undefined> {
  if (sealed === null) return { build: {}, env: {}, git: {} }
  const text = (await openSecretBox(ctx, projectId)).openSecret('deployment-env', deploymentId, sealed)
  return text === undefined ? undefined : (JSON.parse(text) as CreateEnv)
}
