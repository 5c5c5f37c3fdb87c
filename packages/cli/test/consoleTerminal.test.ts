/** The console in a pseudo-terminal, with a person who reads, types and presses keys. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Child from "../../examples/test/fixtures/child.ts"
import * as Console from "./fixtures/console.ts"
import * as Terminal from "./fixtures/terminal.ts"

const { ctrlC, down, enter, escape, up } = Terminal.keys

/** Starts the console in a terminal, and waits for its prompt and for the server. */
const start = Effect.fnUntraced(function*(server: ReadonlyArray<string>, ...words: ReadonlyArray<string>) {
  const terminal = yield* Terminal.start(process.execPath, Console.program, ...words, "--", ...server)
  yield* terminal.shows("* ready: ")
  yield* terminal.shows("? mcp › ")
  const enters = (command: string) => terminal.types(command + enter)
  return { ...terminal, enters }
})

/** Leaves the console, and checks that nothing is left of it. */
const leave = Effect.fnUntraced(function*(terminal: Effect.Success<ReturnType<typeof start>>, key: string) {
  const processes = terminal.processes()
  assert.lengthOf(processes, 2)
  yield* terminal.types(key)
  const { exitCode } = yield* terminal.exited
  assert.strictEqual(exitCode, 0, JSON.stringify(terminal.written()))
  yield* Child.until(() => !processes.some(Child.isRunning))
})

/** The time of a test, in milliseconds. It starts several processes, and a busy machine starts them slowly. */
const timeout = 180_000

describe.concurrent("the console in a terminal", () => {
  for (const revision of ["2025-11-25", "2026-07-28"]) {
    // One terminal, because each starts two processes.
    it.live(
      `${revision}: a person fills in forms, answers for the model and opens a page, or rejects and cancels them`,
      () =>
        Effect.gen(function*() {
          const terminal = yield* start(Console.notebook, "--revision", revision)
          yield* terminal.enters("call erase name=plan")
          yield* terminal.shows(`${Console.notebookName} asks: Erase the note “plan”?`)
          yield* terminal.answers("? Your answer", enter)
          yield* terminal.answers("? Sure? (boolean): Whether to erase “plan”", up + enter)
          yield* terminal.answers("? Reason (optional)", down + enter)
          yield* terminal.answers("? Last words (string, optional)", `farewell${enter}`)
          yield* terminal.shows("The note “plan” is erased: wrong.")
          yield* terminal.shows("? mcp › ")

          // A person may also decline, or leave the form.
          yield* terminal.enters("call erase name=letter")
          yield* terminal.answers("? Your answer", down + enter)
          yield* terminal.shows("The note “letter” was not erased: decline.")
          yield* terminal.shows("? mcp › ")
          yield* terminal.enters("call erase name=letter")
          yield* terminal.answers("? Your answer", enter)
          yield* terminal.answers("? Sure? (boolean)", escape)
          yield* terminal.shows("The note “letter” was not erased: cancel.")
          yield* terminal.shows("? mcp › ")

          yield* terminal.enters("call classify name=weather")
          yield* terminal.answers("? Your answer", enter)
          yield* terminal.answers("Inverse Selection", `${down}${down} ${enter}`)
          yield* terminal.shows("The note “weather” is about: home.")
          yield* terminal.shows("? mcp › ")

          // Ctrl-C while a form is open cancels the form, and not the console.
          yield* terminal.enters("call erase name=letter")
          yield* terminal.answers("? Your answer", ctrlC)
          yield* terminal.shows("The note “letter” was not erased: cancel.")
          yield* terminal.shows("? mcp › ")

          // A person answers for the model, or rejects its use.
          yield* terminal.enters("call summarize name=reading")
          yield* terminal.shows(`${Console.notebookName} asks for the answer of a model, of at most 200 tokens:`)
          yield* terminal.shows("system: You are brief.")
          yield* terminal.answers("? Your answer", enter)
          yield* terminal.answers("? The answer of the model", `Walk by the sea.${enter}`)
          yield* terminal.shows("\"summary\": \"Walk by the sea.\"")
          yield* terminal.shows("? mcp › ")
          yield* terminal.enters("call summarize name=reading")
          yield* terminal.answers("? Your answer", down + enter)
          yield* terminal.shows("User rejected sampling request")
          yield* terminal.shows("? mcp › ")

          // A page is shown with its whole URL, and the call goes on after the visit.
          yield* terminal.enters("call publish name=reading")
          yield* terminal.shows(`${Console.notebookName} asks you to open a page: Sign in to publish.`)
          yield* terminal.shows("? Open the page of 127.0.0.1:")
          const [url = ""] = /http:\/\/127\.0\.0\.1:\d+\/sign-in\/\S+/.exec(terminal.written()) ?? []
          const page = yield* Effect.promise(() => fetch(url).then((response) => response.text()))
          assert.include(page, "You are signed in.")
          yield* terminal.types(enter)
          yield* terminal.shows("The note “reading” is published")
          yield* terminal.shows("? mcp › ")
          yield* leave(terminal, ctrlC)
        }).pipe(Effect.scoped),
      timeout
    )

    it.live(
      `${revision}: a watched resource and a log message appear above the prompt, which keeps what was typed`,
      () =>
        Effect.gen(function*() {
          const url = yield* Console.listening(...Console.listeningNotebook)
          const terminal = yield* start([url], "--revision", revision)
          const writes = (text: string) =>
            Effect.flatMap(Console.start(["call", "write", "name=plan", `text=${text}`], [url]), ({ exited }) => exited)
          yield* terminal.enters("watch note:///plan")
          yield* terminal.shows("  Read more, write less")
          yield* terminal.shows("? mcp › ")
          yield* terminal.types("read note:///lett")
          yield* terminal.shows("? mcp › read note:///lett")
          yield* writes("Stay at home.")
          yield* terminal.shows("  Stay at home.")
          // The same prompt is drawn again below the message, and can be continued.
          yield* terminal.shows("? mcp › read note:///lett")
          assert.deepStrictEqual(terminal.screen().slice(-3), [
            "[note:///plan]  text/markdown",
            "  Stay at home.",
            "? mcp › read note:///lett"
          ])
          yield* terminal.enters("er")
          yield* terminal.shows("  Dear {name},")
          yield* terminal.shows("? mcp › ")
          assert.deepStrictEqual(terminal.screen().slice(-6), [
            "✔ mcp … read note:///letter",
            "[note:///letter]  text/markdown",
            "  Dear {name},",
            "",
            "  thank you for the {gift}!",
            "? mcp ›"
          ])

          // A form of several lines is drawn again as a whole, and an update during a call does not harm it.
          yield* terminal.enters("call erase name=plan")
          yield* terminal.shows("❯ fill in the form")
          yield* writes("Fly.")
          yield* terminal.shows("  Fly.")
          yield* terminal.shows("❯ fill in the form")
          yield* terminal.types(down)
          yield* terminal.shows("❯ decline")
          assert.deepStrictEqual(terminal.screen().slice(-6), [
            "[note:///plan]  text/markdown",
            "  Fly.",
            "? Your answer ›",
            "  fill in the form",
            "❯ decline",
            "  cancel"
          ])
          yield* terminal.types(enter)
          yield* terminal.shows("The note “plan” was not erased: decline.")
          yield* terminal.shows("? mcp › ")
          assert.deepStrictEqual(terminal.screen().slice(-3), [
            "✔ Your answer …  decline",
            "The note “plan” was not erased: decline.",
            "? mcp ›"
          ])
          yield* terminal.types(ctrlC)
          assert.strictEqual((yield* terminal.exited).exitCode, 0)
        }).pipe(Effect.scoped),
      timeout
    )
  }

  it.live(
    "progress is a bar that is drawn in one line, and Ctrl-C cancels the call and not the console",
    () =>
      Effect.gen(function*() {
        const terminal = yield* start(Console.calculator)
        yield* terminal.enters("call count to=4 delayMs=50")
        const bars = [[6, "25 % 1/4 1 of 4"], [12, "50 % 2/4 2 of 4"], [18, "75 % 3/4 3 of 4"]] as const
        for (const [filled, words] of bars) {
          yield* terminal.shows(`[${"█".repeat(filled)}${"░".repeat(24 - filled)}] ${words}\r\u{1b}[J`)
        }
        // The result takes the place of the bar.
        yield* terminal.shows("\r\u{1b}[J4\r\n? mcp › ")
        assert.deepStrictEqual(terminal.screen().slice(-3), ["✔ mcp … call count to=4 delayMs=50", "4", "? mcp ›"])

        yield* terminal.enters("call count to=9999 delayMs=50")
        yield* terminal.shows("5/9999")
        assert.match(terminal.screen().at(-1) ?? "", /^\[░{24}\] 0 % \d+\/9999 \d+ of 9999$/)
        // Keys that nothing has asked for answer nothing.
        yield* terminal.types(`quit${enter}`)
        yield* terminal.shows("9/9999")
        yield* terminal.types(ctrlC)
        yield* terminal.shows("cancelled\r\n")
        yield* terminal.shows("count was interrupted at ")
        yield* terminal.shows("? mcp › ")
        yield* leave(terminal, ctrlC)
      }).pipe(Effect.scoped),
    timeout
  )

  it.live(
    "arguments are asked for with their types, suggested and checked; a server that ends is started again",
    () =>
      Effect.gen(function*() {
        const calculator = yield* start(Console.calculator)
        yield* calculator.enters("call add")
        yield* calculator.answers("? a (number): The first number", `one${enter}`)
        yield* calculator.shows("enter a number")
        yield* calculator.types(`\u{15}15${enter}`)
        yield* calculator.answers("? b (number): The second number", `27${enter}`)
        yield* calculator.shows("\r\n\u{1b}[?25h42\r\n")
        yield* calculator.shows("? mcp › ")

        // A server that ends is started again, and the person sees why and when.
        const [, server = 0] = calculator.processes()
        process.kill(server, "SIGKILL")
        yield* calculator.shows("* down after 1 attempt: ")
        yield* calculator.shows("SIGKILL")
        yield* calculator.shows("* ready: calculator")
        yield* calculator.shows("? mcp › ")
        yield* calculator.enters("call add a=1 b=2")
        yield* calculator.shows("\r\n\u{1b}[?25h3\r\n")
        yield* calculator.shows("? mcp › ")
        yield* leave(calculator, ctrlC)

        const notebook = yield* start(Console.notebook)
        yield* notebook.enters("prompt compare")
        yield* notebook.answers("? Note (string): The first note", `read${enter}`)
        yield* notebook.answers("? Note (string): The second note", down + enter)
        yield* notebook.shows("user: [link note:///reading]")
        yield* notebook.shows("user: [link note:///groceries]")
        yield* notebook.shows("? mcp › ")
        // The menu leads to the same commands.
        yield* notebook.types(enter)
        yield* notebook.answers("? What do you want to do?", down + enter)
        yield* notebook.answers("? Resource", enter)
        yield* notebook.shows("  Red, green and blue.")
        yield* notebook.shows("? mcp › ")
        yield* notebook.enters("reed note:///plan")
        yield* notebook.shows("error: there is no command reed; enter help for a list")
        yield* notebook.shows("? mcp › ")
        yield* leave(notebook, `quit${enter}`)
      }).pipe(Effect.scoped),
    timeout
  )

  it.live(
    "a server cannot control the terminal by its names, texts, logs, progress, questions and errors",
    () =>
      Effect.gen(function*() {
        const terminal = yield* start(Console.hostile)
        yield* terminal.enters("list")
        yield* terminal.shows("instructions\\u{1b}[2J\\u{1b}]0;owned\\u{7}\\u{9b}31m\\u{d}\\u{8}\\u{202e}end")
        yield* terminal.shows("? mcp › ")
        yield* terminal.enters("call attack {}")
        yield* terminal.answers("? Your answer", enter)
        // A default that cannot be shown is not offered.
        yield* terminal.answers("? field\\u{1b}[2J", `x${enter}`)
        yield* terminal.answers("❯ one\\u{1b}[2J", enter)
        yield* terminal.shows("result\\u{1b}[2J")
        yield* terminal.shows("accept\\u001b[2J")
        yield* terminal.shows("? mcp › ")
        yield* terminal.enters("read")
        yield* terminal.answers("? Resource", enter)
        yield* terminal.shows("contents\\u{1b}[2J")
        yield* terminal.shows("? mcp › ")
        yield* terminal.enters("call")
        yield* terminal.answers("tool\\u{1b}[2J", ctrlC)
        yield* terminal.shows("error: cancelled")
        yield* terminal.shows("? mcp › ")
        yield* terminal.enters("prompt")
        yield* terminal.answers("prompt\\u{1b}[2J", enter)
        yield* terminal.shows("message\\u{1b}[2J")
        yield* terminal.shows("? mcp › ")
        yield* leave(terminal, ctrlC)
        // Prompts erase lines and never the whole screen; no prompt sets a title, or uses C1 controls.
        assert.notMatch(terminal.written(), /\u{1b}\[2J|\u{1b}\]|[\u{80}-\u{9f}\u{8}\u{202e}]/u)
        assert.notInclude(terminal.written(), "owned\u{7}")
      }).pipe(Effect.scoped),
    timeout
  )
})
