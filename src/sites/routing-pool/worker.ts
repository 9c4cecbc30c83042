/** A routing worker. It runs tenants' patterns and is terminated if they take too long. docs/deploying-sites.md: Patterns. */
import type { MessagePort } from 'node:worker_threads'
import { readManifest } from '../../delivery/protocol/manifest-file.ts'
import type { Decision } from '../router/decision.ts'
import { resolve, resolveError, resume } from '../router/resolve.ts'
import { openSite, type Site } from '../router/site.ts'
import type { FromWorker, Question, ToWorker } from './messages.ts'

/** Answers the questions of a pool in order. */
export function serveRouting(port: MessagePort): void {
  const sites = new Map<string, Site | Error>()
  port.on('message', (message: ToWorker) => {
    const micros = measure()
    if (message.type === 'drop') sites.delete(message.site)
    else if (message.type === 'ask')
      tell(port, { ...answerTo(sites.get(message.site)!, message.question), micros: micros() })
    else {
      sites.set(message.site, load(message.manifest))
      tell(port, { loaded: true, micros: micros() })
    }
  })
}

function tell(port: MessagePort, message: FromWorker): void {
  port.postMessage(message)
}

/** Returns a function for the processor time of this thread since the call. */
function measure(): () => number {
  const began = process.threadCpuUsage()
  return () => {
    const { user, system } = process.threadCpuUsage(began)
    return user + system
  }
}

/** Returns a site, or the error of its manifest, which fails every question about it. */
function load(manifest: string): Site | Error {
  try {
    return openSite(readManifest(manifest))
  } catch (error) {
    return error as Error
  }
}

function answerTo(site: Site | Error, question: Question): { decision: Decision } | { failure: string } {
  try {
    if (site instanceof Error) throw site
    return { decision: decide(site, question) }
  } catch (error) {
    return { failure: String(error) }
  }
}

function decide(site: Site, question: Question): Decision {
  switch (question.kind) {
    case 'resolve':
      return resolve(site, question.request)
    case 'resume':
      return resume(site, question.state, question.answer)
    case 'error':
      return resolveError(site, question.request, question.status)
  }
}
