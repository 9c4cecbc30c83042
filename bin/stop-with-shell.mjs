/**
 * npm and npx start a shell that starts the program. A signal reaches the shell alone: once it is gone, the signal was meant for this
 * process. (`npm start` has no shell left: docs/operations.md.)
 */
export function stopWithShell() {
  if (process.env.npm_lifecycle_event === undefined) return
  const shell = process.ppid
  setInterval(() => {
    if (process.ppid !== shell) process.kill(process.pid, 'SIGTERM')
  }, 200).unref()
}
