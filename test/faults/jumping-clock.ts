/** Loaded before the program: SIGUSR2 sets the clock of the process off by as many milliseconds as the file says. The time that passes stays true. */
import { readFileSync } from 'node:fs'

const real = Date.now
let offMs = 0
const look = () => {
  offMs = Number(readFileSync(process.env.FAULT_CLOCK!, 'utf8'))
}

look()
Date.now = () => real() + offMs
process.on('SIGUSR2', look)
