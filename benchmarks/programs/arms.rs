fn number(name: &str) -> i32 {
    match name {
        "we recieve it" => 1,
        "the seperate one" => 2,
        _ => 0,
    }
}

fn main() {
    println!("{} {}", number("we recieve it"), "so an error occured".contains("an error occured"));
    eprintln!("The goverment answers after a while.");
}
