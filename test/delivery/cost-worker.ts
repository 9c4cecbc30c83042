/** The thread of `mustBeCheap` (test/delivery/cost.ts). */
import { parentPort, workerData } from 'node:worker_threads'
import { costsOf, type Question, type Worst } from './cost.ts'

const { module, name, pieceMs } = workerData as Question
const { WORST } = (await import(module)) as { WORST: Worst }
const make = WORST[name]!
parentPort!.postMessage(await costsOf(make(0.2), make(1), pieceMs))
