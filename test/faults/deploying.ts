/** Clients that deploy in a loop, as the command line does, and the results of each. */
import { createHash, randomBytes } from 'node:crypto'

/** A deployment that was answered READY: its files by their path below the site, with their SHA-256. */
export type Shown = { id: string; url: string; files: Map<string, string> }

export type Deploys = {
  /** What was answered READY since the start of all. */
  shown: Shown[]
  /** What the answers and the lack of them were, counted. */
  ends: Map<string, number>
  /** Resolves once no request is on its way; none follows. */
  stop(): Promise<void>
}

const LANES = 4
/** Contents that many deployments have: files are uploaded, found and given up by several at once. */
const COMMON = Array.from({ length: 12 }, (_, at) => Buffer.from(`common ${at} `.repeat(400)))
const TIMEOUT_MS = 60_000

type Answer = { status: number; text: string }

/** Posts with a token, as the clients of a deploy do. */
export type Asking = (path: string, body: string | Buffer, headers: Record<string, string>) => Promise<Answer>

/** What asks the service at an address. */
export function askerAt(address: string, token: string): Asking {
  return async (path, body, headers) => {
    const answer = await fetch(address + path, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...headers },
      body: new Uint8Array(Buffer.from(body)),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { status: answer.status, text: await answer.text() }
  }
}

/**
 * Begins to deploy to a project, until it is stopped or the service is gone. `shown`: where those that are READY are added. `mostBytes`: of a file that no
 * other deployment has.
 */
export function startDeploys(
  address: string,
  token: string,
  project: string,
  shown: Shown[],
  mostBytes = 20_000,
): Deploys {
  const ends = new Map<string, number>()
  const stopping = new AbortController()
  const ask = askerAt(address, token)
  const count = (end: string) => ends.set(end, (ends.get(end) ?? 0) + 1)
  const lane = async () => {
    while (!stopping.signal.aborted) {
      try {
        const { end, deployment } = await deployOnce(ask, project, newSite(mostBytes))
        if (deployment !== undefined) shown.push(deployment)
        count(end)
      } catch (error) {
        // The service is gone, as far as this lane knows.
        count(codeOf(error))
        return
      }
    }
  }
  const lanes = Array.from({ length: LANES }, lane)
  return {
    shown,
    ends,
    async stop() {
      stopping.abort()
      await Promise.all(lanes)
    },
  }
}

/** Asks for a deployment, uploads what is missing, and asks once more. */
async function deployOnce(ask: Asking, project: string, contents: Contents): Promise<End> {
  const create = createOf(project, contents)
  const first = await create(ask)
  const missing = missingOf(first)
  if (missing === undefined) return endOf(first, contents)
  const uploaded = await uploadAll(ask, contents, missing)
  return uploaded ?? endOf(await create(ask), contents)
}

/** The files of an output by their path. */
export type Contents = Map<string, Buffer>
export type End = { end: string; deployment?: Shown }

/** The same create each time, byte for byte. */
export function createOf(project: string, contents: Contents): (ask: Asking) => Promise<Answer> {
  const files = [...contents].map(([file, bytes]) => ({
    file,
    sha: hashOf('sha1', bytes),
    size: bytes.length,
    mode: 0o100644,
  }))
  const body = JSON.stringify({ name: project, project, files, meta: { at: randomBytes(8).toString('hex') } })
  return (ask) => ask('/v13/deployments', body, { 'content-type': 'application/json' })
}

/** Uploads those files whose SHA-1 is named. Gives how it ended where one was not taken. */
export async function uploadAll(ask: Asking, contents: Contents, named: ReadonlySet<string>): Promise<End | undefined> {
  for (const bytes of contents.values()) {
    const sha = hashOf('sha1', bytes)
    if (!named.has(sha)) continue
    const uploaded = await ask('/v2/files', bytes, { 'content-type': 'application/octet-stream', 'x-now-digest': sha })
    if (uploaded.status !== 200) return { end: `upload: ${endOf(uploaded, contents).end}` }
  }
  return undefined
}

function newSite(mostBytes: number): Contents {
  const common = COMMON.filter(() => Math.random() < 0.3)
  const own = Array.from({ length: 1 + Math.floor(Math.random() * 4) }, () =>
    randomBytes(Math.floor(Math.random() * mostBytes)),
  )
  return siteOf([...common, ...own])
}

/** A site of files with these contents. */
export function siteOf(contents: readonly Buffer[]): Contents {
  const named = contents.map((bytes, at): [string, Buffer] => [`.vercel/output/static/${at}.bin`, bytes])
  return new Map([['.vercel/output/config.json', Buffer.from('{"version":3}')], ...named])
}

/** The files that are to be uploaded, by their SHA-1; undefined where the answer is another one. */
export function missingOf({ status, text }: Answer): Set<string> | undefined {
  const { error } = JSON.parse(text) as { error?: { code: string; missing?: string[] } }
  return status === 400 && error?.code === 'missing_files' ? new Set(error.missing) : undefined
}

/** How a deploy ended. */
export function endOf({ status, text }: Answer, contents: Contents): End {
  const body = JSON.parse(text) as { id: string; url: string; readyState?: string; error?: { code: string } }
  if (status !== 200) return { end: `${status} ${body.error?.code}` }
  if (body.readyState !== 'READY') return { end: `READY is ${body.readyState}` }
  const paths = [...contents].flatMap(([file, bytes]) =>
    file.endsWith('.bin') ? [[file.slice('.vercel/output/static'.length), hashOf('sha256', bytes)] as const] : [],
  )
  return { end: 'READY', deployment: { id: body.id, url: body.url, files: new Map(paths) } }
}

/** A digest in hexadecimal. */
export function hashOf(algorithm: 'sha1' | 'sha256', bytes: Buffer): string {
  return createHash(algorithm).update(bytes).digest('hex')
}

function codeOf(error: unknown): string {
  const { cause, name } = error as { cause?: NodeJS.ErrnoException; name: string }
  return cause?.code ?? name
}
