/** Asks the data cache of the sites server, over connections that the launcher dials. docs/data-cache.md: Protocol. */
import { connect, type Socket } from 'node:net'
import { createFrameReader, type Frame, frameBytes } from './frames.ts'

/** Gives the answer; undefined where the cache cannot be asked, or refuses. Never throws. */
export type AskCache = (head: object, body?: Buffer) => Promise<Frame | undefined>

const CONNECTIONS = 8
const MAX_WAITING = 1000
const ANSWER_MS = 15_000

type Question = { head: object; body: Buffer | undefined; give(answer: Frame | undefined): void }

/** Opens a client. It dials when it is asked. */
export function openCacheClient(path: string): AskCache {
  const idle: Socket[] = []
  const waiting: Question[] = []
  let open = 0
  const next = (socket: Socket | undefined) => {
    const question = waiting.shift()
    if (question !== undefined) ask(socket ?? dial(), question)
    else if (socket !== undefined) idle.push(socket)
  }
  const dial = () => {
    open++
    const socket = connect(path)
    socket.on('error', () => {})
    socket.once('close', () => {
      open--
      const at = idle.indexOf(socket)
      if (at !== -1) idle.splice(at, 1)
      next(undefined)
    })
    return socket.unref()
  }
  const ask = (socket: Socket, { head, body, give }: Question) => {
    const reader = createFrameReader()
    const end = (answer: Frame | undefined) => {
      clearTimeout(timer)
      socket.off('data', take).off('close', leave)
      give(answer)
      if (answer === undefined) socket.destroy()
      else next(socket)
    }
    const leave = () => end(undefined)
    const take = (piece: Buffer) => {
      const answer = reader.push(piece)
      if (answer !== undefined) end(answer === 'bad' ? undefined : answer)
    }
    const timer = setTimeout(leave, ANSWER_MS)
    socket.on('data', take).once('close', leave)
    for (const piece of frameBytes(head, body)) socket.write(piece)
  }
  return (head, body) =>
    new Promise((give) => {
      const question = { head, body, give }
      const socket = idle.pop()
      if (socket !== undefined) return ask(socket, question)
      if (open < CONNECTIONS) return ask(dial(), question)
      if (waiting.length >= MAX_WAITING) return give(undefined)
      waiting.push(question)
    })
}
