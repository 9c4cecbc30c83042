/** Sends the files of an output that the control plane does not have. docs/runner.md: Output. */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Answer, LeaseChannel } from '../lease/control-plane.ts'
import { retryPauseMs } from '../log/log-upload.ts'
import { BuildFailure } from './failure.ts'
import type { OutputFile } from './output.ts'

const NAMES_AT_ONCE = 1000
const FILES_AT_ONCE = 4
const MAX_TRIES = 10

/** The lease is lost: nothing more may be sent for it. */
export class LeaseLost extends Error {}

/** Sends what is missing. Fails and throws as `retried` does. */
export async function uploadOutput(
  channel: Pick<LeaseChannel, 'missing' | 'sendFile'>,
  files: readonly OutputFile[],
  signal: AbortSignal,
): Promise<{ sent: number; bytes: number }> {
  const byDigest = new Map(files.map((file) => [file.digest, file]))
  const digests = [...byDigest.keys()]
  const missing: OutputFile[] = []
  for (let at = 0; at < digests.length; at += NAMES_AT_ONCE) {
    const slice = digests.slice(at, at + NAMES_AT_ONCE)
    const names = await retried(() => channel.missing(slice, signal), signal)
    missing.push(...names.flatMap((digest) => byDigest.get(digest) ?? []))
  }
  const waiting = missing.values()
  const worker = async () => {
    for (const file of waiting) await retried(() => sendOne(channel, file, signal), signal)
  }
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, worker))
  return { sent: missing.length, bytes: missing.reduce((sum, { size }) => sum + size, 0) }
}

async function sendOne(
  channel: Pick<LeaseChannel, 'sendFile'>,
  { place, digest, size }: OutputFile,
  signal: AbortSignal,
): Promise<Answer<void>> {
  const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW)
  const bytes = handle.createReadStream()
  bytes.on('error', () => {})
  try {
    return await channel.sendFile(digest, size, bytes, signal)
  } finally {
    bytes.destroy()
  }
}

/** Repeats a request until it is done. Fails with RUNNER_FAILED, or the code of a refusal, and throws LeaseLost, or the reason of `signal`. */
export async function retried<T>(request: () => Promise<Answer<T>>, signal: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries++) {
    const answer = await request()
    signal.throwIfAborted()
    if (answer.outcome === 'done') return answer.value
    if (answer.outcome === 'lease_lost') throw new LeaseLost('the lease is lost')
    if (answer.outcome === 'fatal' || tries === MAX_TRIES)
      throw new BuildFailure(answer.code ?? 'RUNNER_FAILED', answer.because)
    await sleep(retryPauseMs(tries), undefined, { signal }).catch(() => signal.throwIfAborted())
  }
}
