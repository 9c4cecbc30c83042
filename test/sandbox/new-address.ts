/** An address that the host of test/sandbox/lab.ts gets while a command tries to reach it. docs/sandbox.md: Network. */

import { HOST_PORT } from './lab-addresses.ts'

/** Of no network that the host had before. */
export const NEW_ADDRESS = '192.88.9.77'

/** A script of the host: gives it the address. */
export const GET_ADDRESS = `ip addr add ${NEW_ADDRESS}/32 dev h0`

/** Prints for some seconds, line by line, `reached` or the number of the error. */
export const attempts = (address: string = NEW_ADDRESS, port: number = HOST_PORT) => `python3 - <<'END'
import socket, time
until = time.time() + 9
while time.time() < until:
  try: socket.create_connection(('${address}', ${port}), 1); print('reached')
  except OSError as error: print(error.errno)
  time.sleep(0.2)
END
`

/** What the last attempts gave, once the address is there and was noticed. */
export function lastAttempts(output: string): Set<string> {
  return new Set(output.trim().split('\n').slice(-5))
}

export const EHOSTUNREACH = '113'
