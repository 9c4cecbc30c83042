/** The host of a request as the index of hosts has it. */

/** A name of labels that DNS can hold, without its final dot, and a port. Under a wildcard anything else would be a name too. */
const HOST = /^(?=[^:]{1,254}(?::|$))((?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63})\.?(:\d{1,5})?$/i

/** Reads a `Host`: the name in lower case, and `:8443` where it names a port. Undefined where it is no name. */
export function readHost(header: string): { host: string; port: string } | undefined {
  const [, host, port = ''] = HOST.exec(header) ?? []
  return host === undefined ? undefined : { host: host.toLowerCase(), port }
}
