/** What must hold of deployments at any time: read outside the service, and as visitors see it. */
import { once } from 'node:events'
import { readFileSync, statSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathOfFile } from '../../src/delivery/files/folder-store.ts'
import { hashOf, type Shown } from './deploying.ts'
import type { Found } from './fault.ts'
import type { Rows } from './store.ts'

type Wanted = { files: string; shown: readonly Shown[]; when: string }

/** Each deployment that was answered READY is there, and each that is READY has its files whole. */
export async function mustBeDeployed(rows: Rows, found: Found, { files, shown, when }: Wanted): Promise<void> {
  const stored = await readStored(rows)
  for (const { id } of shown) {
    if (stored.has(id)) continue
    found.lost++
    found.broken.push(`${when}: ${id} was READY and is not`)
  }
  for (const file of new Set([...stored.values()].flat())) {
    const fault = faultOf(files, file)
    if (fault !== undefined) found.broken.push(`${when}: a READY deployment has a file that ${fault}`)
  }
  for (const [what, sql] of Object.entries(COUNTS)) {
    const many = Number((await rows(sql))[0]!.many)
    found.halfDone += many
    if (many > 0) found.broken.push(`${when}: ${what} (${many})`)
  }
}

/** Every READY deployment with its files, as `account/SHA-256 size`. */
async function readStored(rows: Rows): Promise<Map<string, string[]>> {
  const stored = new Map<string, string[]>()
  const found = await rows(`select deployment.id, blob.account_id, blob.sha256, blob.size from deployment
    left join output_blob on output_blob.output_id = deployment.output_id left join blob on blob.id = output_blob.blob_id
    where deployment.ready_state = 'READY'`)
  for (const { id, account_id, sha256, size } of found)
    stored.getOrInsertComputed(String(id), () => []).push(`${account_id}/${sha256} ${size}`)
  return stored
}

function faultOf(folder: string, file: string): string | undefined {
  const [, account = '', sha256 = '', size] = /^(.*)\/(\w+) (\d+)$/.exec(file) ?? []
  if (sha256 === '') return 'has no row'
  try {
    const path = pathOfFile(folder, account, sha256)
    if (statSync(path).size !== Number(size)) return `has another size: ${sha256}`
    return hashOf('sha256', readFileSync(path)) === sha256 ? undefined : `has other bytes: ${sha256}`
  } catch {
    return `is missing: ${sha256}`
  }
}

const COUNTS = {
  'an output counts other uses than it has':
    'select count(*) as many from output where refs <> (select count(*) from deployment where output_id = output.id)',
  'a file counts other uses than it has':
    'select count(*) as many from blob where refs <> (select count(*) from output_blob where blob_id = blob.id)',
}

/** A visitor sees each file of a deployment as it was sent. */
export async function mustShow(found: Found, sites: string, { id, url, files }: Shown, when: string): Promise<void> {
  const host = new URL(`http://${url}`).hostname
  for (const [path, sha256] of files) {
    let said = await visit(sites, host, path)
    // The sites server looks up what it does not know again once the control plane is back.
    for (let tries = 0; said.status === 503 && tries < 600; tries++) {
      await sleep(50)
      said = await visit(sites, host, path)
    }
    if (said.status !== 200 || said.sha256 !== sha256)
      found.broken.push(`${when}: ${path} of ${id} was answered ${said.status}, with ${said.sha256} for ${sha256}`)
  }
}

async function visit(origin: string, host: string, path: string): Promise<{ status: number; sha256: string }> {
  const asked = request(origin + path, { headers: { host }, agent: false }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece)
  return { status: answer.statusCode!, sha256: hashOf('sha256', Buffer.concat(pieces)) }
}
