/** The peer: an emulator of the same API that keeps everything in memory. Its module is the first parameter; it prints where it listens, and ends with the bench. */
const { createEmulator } = (await import(process.argv[2]!)) as {
  createEmulator: (options: { service: string; port: number }) => Promise<{ url: string }>
}
const { url } = await createEmulator({ service: 'vercel', port: 0 })
process.on('disconnect', () => process.exit(0))
process.stdout.write(`peer listening on ${url.replace('localhost', '127.0.0.1')}\n`)
