/** An address that the host of test/sandbox/lab.ts gets while a command tries to reach it. docs/sandbox.md: Network. */

const ADDRESS = '198.51.100.77'

/** A script of the host: gives it the address. */
export const GET_ADDRESS = `ip addr add ${ADDRESS}/24 dev h0`

/** Prints for some seconds, line by line, `reached` or the number of the error. */
export const ATTEMPTS = `python3 - <<'END'
import socket, time
until = time.time() + 9
while time.time() < until:
  try: socket.create_connection(('${ADDRESS}', 3000), 1); print('reached')
  except OSError as error: print(error.errno)
  time.sleep(0.2)
END
`

/** What the last attempts gave, once the address is there and was noticed. */
export function lastAttempts(output: string): Set<string> {
  return new Set(output.trim().split('\n').slice(-5))
}

export const EHOSTUNREACH = '113'
