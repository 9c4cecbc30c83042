/** A routing worker as the pool of the tests starts it. */
import { parentPort } from 'node:worker_threads'
import { serveRouting } from '../../../src/sites/routing-pool/worker.ts'

serveRouting(parentPort!)
