import { parentPort } from 'node:worker_threads'
import { serveRouting } from './worker.ts'

serveRouting(parentPort!)
