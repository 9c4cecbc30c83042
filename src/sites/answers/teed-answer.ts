/** An answer of a function on its way to a visitor, which is collected where it may be kept. docs/prerendering.md: Answers of functions. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Writable } from 'node:stream'
import { ID_HEADER } from '../../launcher/protocol.ts'
import { type FunctionCall, sendHead } from '../functions/invoke.ts'
import { CollectedAnswer } from '../prerender/collect.ts'
import type { PageAnswer } from '../prerender/keeping.ts'
import type { RenderBudget } from '../prerender/render-budget.ts'
import { onceRead } from './unread.ts'

type Head = Omit<PageAnswer, 'body'>
type Options = {
  account: string
  call: FunctionCall
  visitor: ServerResponse
  budget: RenderBudget
  /** Whether it is kept. Called once, with the head. */
  isKept(head: Head): boolean
  /** It is too large, or nothing more may be collected now: it is not kept. Called once at most. */
  onOverflow(): void
  /** A visitor who has not read what was collected, and reads nothing for this time, is disconnected. */
  timeoutMs?: number
}

/** Takes the place of a visitor's response (`Answering`). What is collected goes on without its visitor, and does not wait for one who is slow. */
export class TeedAnswer extends Writable {
  #hasHead = false
  readonly #options: Options
  /** Undefined before the head, and where it is not collected any more. */
  #collected: CollectedAnswer | undefined

  constructor(options: Options) {
    super()
    this.#options = options
    this.on('error', () => {})
    options.visitor.once('close', this.#leave)
    if (options.visitor.destroyed) this.#leave()
  }

  get headersSent(): boolean {
    return this.#hasHead || this.#options.visitor.headersSent
  }

  get statusCode(): number {
    return this.#options.visitor.statusCode
  }

  #leave = (): void => {
    if (this.#collected === undefined && !this.writableFinished) this.destroy()
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): void {
    const { call, visitor, account, budget, isKept } = this.#options
    const pageHeaders = headers as PageAnswer['headers']
    // A head that cannot be sent throws: then the visitor gets another answer, and nothing is collected.
    if (!visitor.destroyed) sendHead(visitor, { id: String(visitor.getHeader(ID_HEADER)), call }, status, pageHeaders)
    const collected = new CollectedAnswer(account, budget)
    collected.writeHead(status, headers)
    if (isKept({ status, headers: pageHeaders })) this.#collected = collected
    this.#hasHead = true
  }

  getHeader(name: string): unknown {
    return this.#options.visitor.getHeader(name)
  }

  setHeader(name: string, value: string): void {
    this.#options.visitor.setHeader(name, value)
  }

  flushHeaders(): void {}

  override _write(piece: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    const { visitor } = this.#options
    const isTaken = visitor.destroyed || visitor.write(piece)
    if (this.#collected !== undefined && !this.#collect(piece)) this.#leaveIfGone()
    if (this.#collected !== undefined || isTaken || visitor.destroyed) return void done()
    const go = () => {
      visitor.off('drain', go).off('close', go)
      done()
    }
    visitor.on('drain', go).on('close', go)
  }

  /** What is too large goes on to its visitor alone, who may not have read what was collected. */
  #collect(piece: Buffer): boolean {
    const collected = this.#collected!
    collected.write(piece)
    if (!collected.errored) return true
    const { visitor, timeoutMs, onOverflow } = this.#options
    this.#collected = undefined
    if (visitor.writableNeedDrain) onceRead(visitor, () => collected.release(), timeoutMs)
    else collected.release()
    onOverflow()
    return false
  }

  #leaveIfGone(): void {
    if (this.#options.visitor.destroyed) this.destroy()
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#options.visitor.end()
    if (this.#collected === undefined) done()
    else this.#collected.end(() => done())
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const { visitor } = this.#options
    visitor.off('close', this.#leave)
    if (this.#hasHead && !visitor.writableEnded) visitor.destroy()
    if (!this.writableFinished) this.#drop()
    done(error)
  }

  #drop(): void {
    this.#collected?.release()
    this.#collected = undefined
  }

  /** Returns the whole answer, where it was collected. `release` must be called afterwards: its bytes count until the visitor has them. */
  collected(): { answer: PageAnswer; release(): void } | undefined {
    const collected = this.#collected
    const { visitor, timeoutMs } = this.#options
    if (collected === undefined || !this.writableFinished) return undefined
    const release = () => {
      if (visitor.destroyed || visitor.writableFinished) collected.release()
      else onceRead(visitor, () => collected.release(), timeoutMs)
    }
    return { answer: collected.whole(), release }
  }
}
