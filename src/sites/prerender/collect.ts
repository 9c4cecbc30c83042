/** Collects the answer of a function in memory, within a budget. docs/prerendering.md: Rendering. */
import type { OutgoingHttpHeaders } from 'node:http'
import { Writable } from 'node:stream'
import { collectBytes } from '../../platform/fairness/collected-bytes.ts'
import { FUNCTION_ERRORS, FunctionFailure } from '../functions/faults.ts'
import type { PageAnswer } from './keeping.ts'
import type { RenderBudget } from './render-budget.ts'

/** The largest page. */
const MAX_PAGE = 10 * 1024 ** 2

/** Takes the place of a visitor's response (`Answering`). */
export class CollectedAnswer extends Writable {
  headersSent = false
  statusCode = 0
  readonly #account: string
  readonly #budget: RenderBudget
  readonly #body = collectBytes()
  #head: Omit<PageAnswer, 'body'> | undefined
  #bytes = 0

  constructor(account: string, budget: RenderBudget) {
    super()
    this.#account = account
    this.#budget = budget
    // The caller reads `errored`.
    this.on('error', () => {})
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): void {
    const texts = Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), Array.isArray(value) ? value : String(value)] as const],
    )
    this.#head = { status, headers: Object.fromEntries(texts) }
    this.headersSent = true
    this.statusCode = status
  }

  getHeader(): undefined {
    return undefined
  }

  setHeader(): void {}

  flushHeaders(): void {}

  override _write(piece: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    const size = this.#bytes + piece.length
    const failure = this.#failureAt(size, piece.length)
    if (failure === undefined) {
      this.#bytes = size
      this.#body.push(piece)
    } else this.statusCode = FUNCTION_ERRORS[failure.code]
    done(failure)
  }

  #failureAt(size: number, more: number): FunctionFailure | undefined {
    if (size > MAX_PAGE) return new FunctionFailure('FUNCTION_RESPONSE_PAYLOAD_TOO_LARGE', TOO_LARGE)
    if (this.#budget.take(this.#account, more)) return undefined
    return new FunctionFailure('FUNCTION_THROTTLED', 'too many large pages are rendered at the same time')
  }

  /** Returns the answer. Throws FunctionFailure if it did not come whole. */
  whole(): PageAnswer {
    if (this.errored instanceof FunctionFailure) throw this.errored
    if (this.#head === undefined || !this.writableFinished)
      throw new FunctionFailure('FUNCTION_INVOCATION_TIMEOUT', 'the page did not come whole', this.errored)
    return { ...this.#head, body: this.#body.join() }
  }

  /** The answer is needed no more, or does not come. */
  release(): void {
    // Its request in the log of the function ends with it.
    this.destroy()
    this.#budget.giveBack(this.#account, this.#bytes)
    this.#bytes = 0
    this.#body.clear()
  }
}

const TOO_LARGE = `a prerendered page has at most ${MAX_PAGE / 1024 ** 2} MiB`
