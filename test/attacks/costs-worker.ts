/** The thread of `mustBeCheap` (test/attacks/costs.ts). */
import { parentPort, workerData } from 'node:worker_threads'
import { costsOf, type Question, type Worst } from './costs.ts'

const { module, name, pieceMs } = workerData as Question
const { WORST } = (await import(module)) as { WORST: Worst }
const make = WORST[name]!
parentPort!.postMessage(await costsOf(make(0.2), make(1), pieceMs))
