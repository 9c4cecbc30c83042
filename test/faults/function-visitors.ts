/** Visitors who ask functions in a loop, each request with a nonce of its own, and what they were answered. */
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

/** A function that is deployed. `mark`: what the process that it starts has on its command line. */
export type Asked = { host: string; path: string; mark: string }

export type Visitors = {
  /** Since the last call of `begin`: how many complete answers each visitor got, and the errors. */
  seen: readonly Seen[]
  /** Forgets what was seen. */
  begin(): void
  /** Answers with what belongs to another request: none may be. */
  foreign: string[]
  answered(): number
  stop(): Promise<void>
}

type Seen = { asked: Asked; answers: number; errors: string[] }

const [LINES, PIECES] = [200, 4]
const TIMEOUT_MS = 60_000
/** Visitors of each function. */
const OF_EACH = 2

/** Returns a module that answers with the nonce of its request, in pieces, and that has a process of its own. `isShared`: as a function that mixes its requests up. */
export function echoModule(mark: string, isShared = false): string {
  return `import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
spawn('sleep', ['${mark}'], { stdio: 'ignore' })
let latest
export async function POST(request) {
  const own = await request.text()
  latest = own
  await sleep(Math.random() * 20)
  const nonce = ${isShared ? 'latest' : 'own'}
  console.log(nonce)
  const piece = new TextEncoder().encode(('${mark} ' + nonce + '\\n').repeat(${LINES / PIECES}))
  return new Response(new ReadableStream({ async start(answer) {
    for (let at = 0; at < ${PIECES}; at++) {
      answer.enqueue(piece)
      await sleep(Math.random() * 4)
    }
    answer.close()
  } }))
}
`
}

/** Starts visitors of functions. `origin`: of the sites server; one that is pending is waited for, so that a visitor has one error of a server that ends. */
export function startVisitors(functions: readonly Asked[], origin: () => Promise<string>): Visitors {
  const seen: Seen[] = functions.flatMap((asked) =>
    Array.from({ length: OF_EACH }, () => ({ asked, answers: 0, errors: [] })),
  )
  const foreign: string[] = []
  let [isOver, answered] = [false, 0]
  const lane = async (own: Seen) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    while (!isOver) {
      const nonce = randomBytes(12).toString('hex')
      const { error, text } = await ask(agent, await origin(), own.asked, nonce)
      const wanted = `${own.asked.mark} ${nonce}\n`.repeat(LINES)
      if (error === undefined && text === wanted) {
        own.answers++
        answered++
      } else if (!wanted.startsWith(text)) foreign.push(`${own.asked.path}: ${text.slice(0, 200)} for ${nonce}`)
      else own.errors.push(error ?? `${text.length} of ${wanted.length} bytes`)
      // As a visitor who asks again.
      if (error !== undefined) await sleep(5)
    }
    agent.destroy()
  }
  const lanes = seen.map(lane)
  return {
    seen,
    begin() {
      for (const own of seen) Object.assign(own, { answers: 0, errors: [] })
    },
    foreign,
    answered: () => answered,
    async stop() {
      isOver = true
      await Promise.all(lanes)
    },
  }
}

/** `text`: what came of the answer of a function, also where it was cut. */
function ask(
  agent: Agent,
  origin: string,
  { host, path }: Asked,
  nonce: string,
): Promise<{ error: string | undefined; text: string }> {
  return new Promise((resolve) => {
    let text = ''
    const end = (error?: string) => resolve({ error, text })
    const headers = { host, 'content-length': nonce.length }
    const asked = request(`${origin}${path}?nonce=${nonce}`, { method: 'POST', agent, headers, timeout: TIMEOUT_MS })
    asked.on('response', (answer) => {
      const status = answer.statusCode!
      answer.setEncoding('utf8').on('data', (piece) => {
        if (status === 200) text += piece
      })
      answer.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
      answer.on('end', () => end(status === 200 ? undefined : `${status} ${answer.headers['x-vercel-error']}`))
    })
    asked.on('timeout', () => asked.destroy(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })))
    asked.on('error', (error: NodeJS.ErrnoException) => end(error.code ?? error.message))
    asked.end(nonce)
  })
}
