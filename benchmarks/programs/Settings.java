import java.util.Map;

public class Settings {
    public static void main(String[] args) {
        Map<String, Integer> settings = Map.of("the seperate key", 5);
        String line = "an error occured while reading";
        System.out.println(settings.get("the seperate key") + " " + line.startsWith("an error occured"));
        System.err.println("The goverment answers after a while.");
    }
}
