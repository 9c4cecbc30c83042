/** Deploys as the command line does: asks for a deployment, uploads what is said to be missing, and asks once more. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent } from 'undici'
import type { Target } from '../children.ts'

/** A deployment that is READY, and its address. */
export type Deployed = { id: string; url: string }

const UPLOADS_AT_ONCE = 50
const OUTPUT = '.vercel/output'

/** A file of an output, as a create lists it. */
type Listed = { file: string; sha: string; size: number; mode: number; bytes: Buffer }

type Options = { project: string; meta?: Record<string, string> }

/** Makes the files of a folder a production deployment with this `meta`. Throws what the service refuses. */
export function deployFolder(service: Omit<Target, 'process'>, folder: string, options: Options): Promise<Deployed> {
  const names = readdirSync(folder).map((name) => fileOf(`static/${name}`, readFileSync(join(folder, name))))
  return deployOutput(service, [fileOf('config.json', '{"version":3}'), ...names], options)
}

/** Makes an output a production deployment. Throws what the service refuses. */
export async function deployOutput(
  service: Omit<Target, 'process'>,
  listed: readonly Listed[],
  { project, meta = {} }: Options,
): Promise<Deployed> {
  const dispatcher = new Agent({ connections: UPLOADS_AT_ONCE })
  const post = async (path: string, body: string | Buffer, headers: Record<string, string>) => {
    const authorization = `Bearer ${service.token}`
    const init = { method: 'POST', headers: { authorization, ...headers }, body, dispatcher }
    const answer = await fetch(service.origin + path, init as unknown as RequestInit)
    return { status: answer.status, text: await answer.text() }
  }
  const files = listed.map(({ bytes: _, ...entry }) => entry)
  const body = JSON.stringify({ name: project, project, target: 'production', files, meta })
  const create = () => post('/v13/deployments', body, { 'content-type': 'application/json' })
  try {
    let answer = await create()
    const missing = missingOf(answer.text)
    if (missing.size > 0) {
      await inParallel(
        [...new Map(listed.map((one) => [one.sha, one])).values()].filter(({ sha }) => missing.has(sha)),
        async ({ sha, bytes }) => {
          const headers = { 'content-type': 'application/octet-stream', 'x-now-digest': sha }
          const { status, text } = await post('/v2/files', bytes, headers)
          if (status !== 200) throw new Error(`an upload was answered ${status}: ${text}`)
        },
      )
      answer = await create()
    }
    const { id, url, readyState } = JSON.parse(answer.text) as Deployed & { readyState?: string }
    if (readyState !== 'READY') throw new Error(`a deployment was answered ${answer.status}: ${answer.text}`)
    return { id, url: new URL(`http://${url}`).hostname }
  } finally {
    await dispatcher.close()
  }
}

/** Returns a file of an output, with its name in it. */
export function fileOf(file: string, content: string | Buffer): Listed {
  const bytes = Buffer.from(content)
  const sha = createHash('sha1').update(bytes).digest('hex')
  return { file: `${OUTPUT}/${file}`, sha, size: bytes.length, mode: 0o100644, bytes }
}

function missingOf(text: string): ReadonlySet<string> {
  const { error } = JSON.parse(text) as { error?: { code: string; missing?: string[] } }
  return new Set(error?.code === 'missing_files' ? error.missing : [])
}

/** Runs at most as many at once as the command line does. */
async function inParallel<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const left = all[Symbol.iterator]()
  const turns = Array.from({ length: UPLOADS_AT_ONCE }, async () => {
    for (const one of left) await run(one)
  })
  await Promise.all(turns)
}
