/** How much of the event loop an account may use with what its functions write. docs/functions.md: Pace. */
import type { Dispatcher } from 'undici'
import { createPace, type Pace } from '../../../platform/fairness/pace.ts'

/** `text`: lines of output and messages. `pieces`: of the bodies of answers. */
export type FunctionPace = { text: Pace; pieces: Pace }
/** The same for one account. */
export type Owe = Record<keyof FunctionPace, (units: number) => number>

type RawHeaders = NonNullable<Dispatcher.DispatchController['rawHeaders']> | null

/** Units of an account in a second: some 30 ms of lines, and some 150 ms of pieces of one byte. */
const TEXT = 100_000
const PIECES = 50_000

/** Creates the pace of accounts. */
export function createFunctionPace(): FunctionPace {
  const now = () => performance.now()
  return { text: createPace(TEXT, now), pieces: createPace(PIECES, now) }
}

/** Returns an interceptor that lets the body of an answer wait as long as its account owes for its pieces. */
export function pacedPieces(owe: Owe['pieces']): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    let held: HeldController | undefined
    return dispatch(options, {
      onRequestStart(controller, context) {
        held = new HeldController(controller)
        handler.onRequestStart?.(held, context)
      },
      onRequestUpgrade: (_, ...rest) => handler.onRequestUpgrade?.(held!, ...rest),
      onResponseStart: (_, ...rest) => handler.onResponseStart?.(held!, ...rest),
      onResponseData(_, piece) {
        handler.onResponseData?.(held!, piece)
        held!.wait(owe(1))
      },
      onResponseEnd(_, trailers) {
        held!.end()
        handler.onResponseEnd?.(held!, trailers)
      },
      onResponseError(controller, error) {
        held?.end()
        handler.onResponseError?.(held ?? controller, error)
      },
    })
  }
}

/** Goes on when the reader can take more and the account owes nothing. */
class HeldController implements Dispatcher.DispatchController {
  readonly #of: Dispatcher.DispatchController
  #isFull = false
  #timer: NodeJS.Timeout | undefined

  constructor(of: Dispatcher.DispatchController) {
    this.#of = of
  }

  get aborted(): boolean {
    return this.#of.aborted
  }

  get paused(): boolean {
    return this.#of.paused
  }

  get reason(): Error | null {
    return this.#of.reason
  }

  get rawHeaders(): RawHeaders {
    return this.#of.rawHeaders ?? null
  }

  get rawTrailers(): RawHeaders {
    return this.#of.rawTrailers ?? null
  }

  abort(reason: Error): void {
    this.#of.abort(reason)
  }

  pause(): void {
    this.#isFull = true
    this.#of.pause()
  }

  resume(): void {
    this.#isFull = false
    if (this.#timer === undefined) this.#of.resume()
  }

  wait(ms: number): void {
    if (ms <= 0) return
    this.#of.pause()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      if (!this.#isFull) this.#of.resume()
    }, ms).unref()
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
