let turn: Promise<void> | undefined

/** Answers that were made in one turn of the event loop leave together: a write that wakes a waiting client costs more than the answer. */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined
      resolve()
    })
  })
  return turn
}
