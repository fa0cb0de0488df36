import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import software.amazon.event.ruler.Machine;

/**
 * Measures Amazon Event Ruler on a workload directory and prints one JSON line.
 * Arguments: directory, warm-up passes, measured passes.
 */
public final class RulerBench {
  public static void main(String[] args) throws Exception {
    Path directory = Path.of(args[0]);
    int warmups = Integer.parseInt(args[1]);
    int passes = Integer.parseInt(args[2]);
    List<String> rules = Files.readAllLines(directory.resolve("subs.jsonl"));
    List<String> events = Files.readAllLines(directory.resolve("events.jsonl"));

    // The first load is what a starting service waits for; the best one has the compiler warmed up.
    Machine machine = null;
    double loadMs = 0;
    double warmLoadMs = Double.MAX_VALUE;
    for (int round = 0; round < Math.max(1, passes); round++) {
      machine = null;
      System.gc();
      long started = System.nanoTime();
      machine = load(rules);
      double took = (System.nanoTime() - started) / 1e6;
      if (round == 0) loadMs = took;
      warmLoadMs = Math.min(warmLoadMs, took);
    }

    long matches = 0;
    for (int round = 0; round < warmups; round++) matches = pass(machine, events);
    double best = 0;
    for (int round = 0; round < passes; round++) {
      long started = System.nanoTime();
      matches = pass(machine, events);
      best = Math.max(best, events.size() / ((System.nanoTime() - started) / 1e9));
    }
    System.gc();
    Runtime runtime = Runtime.getRuntime();
    long heap = runtime.totalMemory() - runtime.freeMemory();
    System.out.printf(
        java.util.Locale.ROOT,
        "{\"loadMs\":%.1f,\"warmLoadMs\":%.1f,\"eventsPerSecond\":%.0f,\"matches\":%d,"
            + "\"heapBytes\":%d}%n",
        loadMs, warmLoadMs, best, matches, heap);
  }

  private static Machine load(List<String> rules) throws Exception {
    ObjectMapper json = new ObjectMapper();
    Machine machine = new Machine();
    for (String line : rules) {
      JsonNode rule = json.readTree(line);
      machine.addRule(rule.get("id").asText(), rule.get("pattern").toString());
    }
    return machine;
  }

  private static long pass(Machine machine, List<String> events) throws Exception {
    long matches = 0;
    for (String event : events) matches += machine.rulesForJSONEvent(event).size();
    return matches;
  }
}
